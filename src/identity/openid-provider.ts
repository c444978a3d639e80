import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  type ServerMetadata,
} from 'openid-client';
import type { Secret } from '../platform/options/secret.ts';
import { type Identity, type IdentityProvider, type LoginAttempt, LoginFailed } from './contract.ts';
import { explainFailure } from './explain-failure.ts';
import type { OidcOptions } from './options.ts';
import { providerFetch } from './provider-fetch.ts';
import { type Claims, lacksClaims, readIdentity, withUserInfo } from './read-identity.ts';

/** Age at which the provider's configuration is read again, in ms. */
const MAX_AGE_MS = 3_600_000;
/** Maximum length of an ID token that is sent in the logout URL, in characters. */
const MAX_HINT_LENGTH = 4_000;

/** What a provider needs besides its options. */
export interface ProviderParts {
  /** Aborts requests in progress. */
  readonly stop: AbortSignal;
  /** Returns the time of a monotonic clock, in ms. */
  readonly monotonicMs: () => number;
  /** Maximum time of one request, in ms. */
  readonly timeoutMs?: number;
}

/**
 * An OpenID provider, used through the Authorization Code flow with PKCE (OpenID Connect Core, section 3.1; RFC 7636). Reads the provider's
 * configuration on first use, and again after an hour or after a failed login.
 */
export class OpenIdProvider implements IdentityProvider {
  readonly label: string;
  readonly issuer: string;
  readonly key: string;
  readonly #options: OidcOptions;
  readonly #parts: ProviderParts;
  #found: { readonly config: Promise<Configuration>; readonly atMs: number } | undefined;

  constructor(options: OidcOptions, parts: ProviderParts) {
    const { issuer, client_id, name_claim, groups_claim, label } = options;
    this.issuer = issuer;
    this.label = label ?? new URL(issuer).host;
    this.key = JSON.stringify([issuer, client_id, name_claim, groups_claim]);
    this.#options = options;
    this.#parts = parts;
  }

  async begin(redirectUri: string): Promise<LoginAttempt> {
    const config = await this.#discovered();
    const attempt = {
      redirectUri,
      state: randomState(),
      nonce: randomNonce(),
      verifier: randomPKCECodeVerifier(),
    };
    const { href: address } = buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: this.#options.scopes.join(' '),
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await calculatePKCECodeChallenge(attempt.verifier),
      code_challenge_method: 'S256',
    });
    return { ...attempt, address };
  }

  async finish(
    answer: URLSearchParams,
    { redirectUri, state, nonce, verifier }: LoginAttempt,
  ): Promise<Identity> {
    const config = await this.#discovered();
    const current = new URL(redirectUri);
    current.search = answer.toString();
    try {
      const tokens = await authorizationCodeGrant(config, current, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims = await this.#complete(config, tokens.claims() ?? {}, tokens.access_token);
      const idToken = tokens.id_token;
      const isShort = idToken !== undefined && idToken.length <= MAX_HINT_LENGTH;
      return { ...readIdentity(claims, this.#options), idToken: isShort ? idToken : undefined };
    } catch (error) {
      const failure = explainFailure(error, this.#options.issuer, 'login');
      const isOfPerson =
        failure instanceof LoginFailed && (failure.reason === 'declined' || failure.reason === 'person');
      if (!isOfPerson) this.#found = undefined; // its endpoints may have changed
      throw failure;
    }
  }

  async logoutAddress(idToken: string | undefined, returnTo: string): Promise<string | undefined> {
    try {
      const config = await this.#discovered();
      if (!isUsable(config.serverMetadata().end_session_endpoint, this.#options.issuer)) return undefined;
      return buildEndSessionUrl(config, {
        post_logout_redirect_uri: returnTo,
        ...(idToken !== undefined && { id_token_hint: idToken }),
      }).href;
    } catch (error) {
      if (error instanceof LoginFailed) return undefined; // the session at leadsync ends regardless
      throw error;
    }
  }

  /** Checks that the provider answers and can do what a login needs. @throws LoginFailed */
  async check(): Promise<void> {
    await this.#discovered();
  }

  /** Adds the claims that only the UserInfo endpoint has (OpenID Connect Core, section 5.3). */
  async #complete(config: Configuration, claims: Claims, accessToken: string): Promise<Claims> {
    const hasMore = config.serverMetadata().userinfo_endpoint !== undefined;
    if (!hasMore || !lacksClaims(claims, this.#options)) return claims;
    try {
      const more = await fetchUserInfo(config, accessToken, String(claims['sub']));
      return withUserInfo(claims, more, this.#options);
    } catch (error) {
      throw explainFailure(error, this.#options.issuer, 'userinfo');
    }
  }

  #discovered(): Promise<Configuration> {
    const nowMs = this.#parts.monotonicMs();
    if (this.#found && nowMs - this.#found.atMs < MAX_AGE_MS) return this.#found.config;
    const found = { config: this.#discover(), atMs: nowMs };
    this.#found = found;
    found.config.catch(() => {
      if (this.#found === found) this.#found = undefined; // the next login asks again
    });
    return found.config;
  }

  async #discover(): Promise<Configuration> {
    const { issuer, client_id, client_secret } = this.#options;
    const { stop, timeoutMs } = this.#parts;
    const auth = client_secret === undefined ? None() : secretAuth(client_secret);
    const execute = [enableNonRepudiationChecks]; // verifies the signature of the ID token
    if (issuer.startsWith('http:')) execute.push(allowInsecureRequests); // on loopback
    try {
      const config = await discovery(new URL(issuer), client_id, undefined, auth, {
        execute,
        [customFetch]: providerFetch(stop, timeoutMs), // with its own time limit, which covers the body as well
      });
      requireAbilities(config.serverMetadata(), issuer);
      return config;
    } catch (error) {
      throw explainFailure(error, issuer, 'discovery');
    }
  }
}

/**
 * Returns the client authentication: with the secret in the body if the provider says that it supports this, otherwise with HTTP Basic (OpenID
 * Connect Core, section 9).
 */
function secretAuth(secret: Secret): ClientAuth {
  const [inBody, inHeader] = [ClientSecretPost(secret.reveal()), ClientSecretBasic(secret.reveal())];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported;
    return (methods?.includes('client_secret_post') ? inBody : inHeader)(server, ...rest);
  };
}

/**
 * Checks that the provider supports everything that a login needs, as far as it says what it supports (OpenID Connect Discovery, section 3).
 * @throws LoginFailed
 */
function requireAbilities(server: ServerMetadata, issuer: string): void {
  const { response_types_supported: types, code_challenge_methods_supported: challenges } = server;
  const missing = [
    ...(['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const).filter(
      (name) => !isUsable(server[name], issuer),
    ),
    ...(types !== undefined && !types.includes('code') ? ['response type code'] : []),
    ...(challenges !== undefined && !challenges.includes('S256') ? ['PKCE with S256'] : []),
  ];
  if (missing.length === 0) return;
  throw new LoginFailed(
    'protocol',
    `The login provider at ${new URL(issuer).host} does not have what a login needs: ${missing.join(', ')}.`,
    'Enable it at the provider, or check admin.oidc.issuer.',
  );
}

/** Whether an endpoint is an address that leadsync may use: https, or the scheme of an issuer on loopback. */
function isUsable(endpoint: unknown, issuer: string): boolean {
  const url = typeof endpoint === 'string' ? URL.parse(endpoint) : null;
  return (
    url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && issuer.startsWith('http:')))
  );
}
