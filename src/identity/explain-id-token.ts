import { LoginFailed } from './contract.ts';

/** Claims that every ID token needs (OpenID Connect Core, sections 2 and 3.1.2.1). */
const NEEDED = ['iss', 'sub', 'aud', 'exp', 'iat', 'nonce'] as const;

const TRY_AGAIN = 'Log in again. If that does not help, ';

/** What the library reports about an invalid token. Contains claims, so leadsync passes on only their names. */
interface Detail {
  readonly claim?: unknown;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: unknown;
  readonly expected?: unknown;
  readonly signature?: unknown;
}

/** What is wrong with an ID token, and the next step. */
type Fault = readonly [what: string, hint: string];

/**
 * Returns the failure for an ID token that is not valid (OpenID Connect Core, section 3.1.3.7). Names claims, never their values.
 * @param code error code from openid-client
 * @param detail what the library found, which contains the token
 */
export function invalidToken(code: string | undefined, detail: unknown, host: string): LoginFailed {
  const [what, hint] = faultOf(code, detail);
  return new LoginFailed('token', `The ID token from ${host} ${what}, so leadsync does not accept it.`, hint);
}

function faultOf(code: string | undefined, detail: unknown): Fault {
  const found: Detail = typeof detail === 'object' && detail !== null ? detail : {};
  if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED') return wrongTime(found);
  if (code === 'OAUTH_JWT_CLAIM_COMPARISON_FAILED') return wrongClaim(found);
  if (code === 'OAUTH_KEY_SELECTION_FAILED')
    return [
      'is not valid: it is signed with a key that the provider does not publish',
      `${TRY_AGAIN}check whether a cache or a proxy answers instead of the provider with older keys.`,
    ];
  if (code === 'OAUTH_UNSUPPORTED_OPERATION')
    return typeof detail === 'string'
      ? ['is encrypted, which leadsync cannot read', 'Turn off the encryption of ID tokens for the client.']
      : [
          'is not valid: it is not signed with a key pair',
          'Configure the provider to sign the ID tokens of the client with RS256 or another algorithm with a public key.',
        ];
  if (found.signature !== undefined)
    return [
      'is not valid: its signature is not that of the provider',
      `${TRY_AGAIN}check whether a proxy changes what the provider sends.`,
    ];
  if (found.header !== undefined && found.expected !== undefined)
    return [
      'is not valid: it is signed with an algorithm that the provider does not announce',
      'Configure the provider to sign the ID tokens of the client with RS256.',
    ];
  return missingClaim(found);
}

/** A token comes directly from the provider, so a wrong time means that the clocks differ. */
function wrongTime({ claim }: Detail): Fault {
  return claim === 'nbf'
    ? ['is not valid yet', "Set the clocks: this machine's is behind that of the provider."]
    : ['has already expired', "Set the clocks: this machine's is ahead of that of the provider."];
}

function wrongClaim({ claim, claims }: Detail): Fault {
  const forSeveral =
    Array.isArray(claims?.['aud']) && claims['azp'] === undefined && claims['aud'].length > 1;
  if (claim === 'aud' && forSeveral)
    return [
      'is not valid: it is for several clients, and does not say (azp) which of them requested it',
      'At the provider, remove the other audiences from the ID tokens of the client.',
    ];
  if (claim === 'aud' || claim === 'azp')
    return ['is not valid: it is for another client', 'Check client_id in admin.oidc.'];
  if (claim === 'iss')
    return [
      'is not valid: it is from another issuer',
      'Set admin.oidc.issuer to exactly the issuer that the provider names.',
    ];
  return ['is not valid: it belongs to another login', 'Log in again, from the login page.'];
}

function missingClaim({ claims }: Detail): Fault {
  const missing = claims && NEEDED.find((name) => claims[name] === undefined);
  return missing === undefined
    ? ['is not valid', `${TRY_AGAIN}check whether a proxy answers instead of the provider.`]
    : [
        `is not valid: it has no claim ${missing}`,
        `${TRY_AGAIN}check the claims of the ID tokens at the provider: OpenID Connect requires this one.`,
      ];
}
