import { ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client';
import { SourceError, type SourceErrorCode } from '../contract/source.ts';

/** The token endpoint understood the request and refused it (RFC 6749, section 5.2). */
export class GrantRefused extends SourceError {
  /** The error code of RFC 6749, such as `invalid_grant`; undefined if the answer has none. */
  readonly oauthError: string | undefined;

  constructor(oauthError: string | undefined, httpStatus: number, grant: string, source: string) {
    const { code, message, hint } = describe(oauthError, httpStatus, grant, source);
    super(code, message, { hint, httpStatus });
    this.oauthError = oauthError;
  }

  /** Whether the answer is an OAuth error that leadsync knows, rather than the error page of another program at this address. */
  get isNamed(): boolean {
    return refusalOf(this.oauthError) !== undefined;
  }
}

/** Error codes that refuse the client itself, whatever token it sends. */
const CLIENT_REFUSED: ReadonlySet<string | undefined> = new Set(['invalid_client']);
/** Error codes of temporary failures. */
const PASSING: ReadonlySet<SourceErrorCode> = new Set(['rate-limited', 'server']);

/**
 * Whether the service refused the refresh token. Any 4xx status counts, whatever the error code, because the service's API description defines no errors.
 */
export function refusesToken(error: unknown): error is SourceError {
  if (!(error instanceof SourceError) || PASSING.has(error.code)) return false;
  if (error instanceof GrantRefused && CLIENT_REFUSED.has(error.oauthError)) return false;
  const { httpStatus = 0 } = error;
  return httpStatus >= 400 && httpStatus < 500;
}

/** Returns the error for a redirect without a code (RFC 6749, section 4.1.2.1); leadsync sent no request to the token endpoint. */
export function accessRefused(error: string, source: string): SourceError {
  const [what, hint] =
    error === 'access_denied'
      ? ['access was not granted', `Run \`leadsync login ${source}\` again, and grant access.`]
      : ['it issues no code', refusalOf(error)?.hint ?? 'Check how the client is registered at the service.'];
  const named = plain(error) ?? 'no reason given';
  return new SourceError('credentials', `The service says that ${what} (${named}).`, { hint });
}

/** Returns the error for a source that needs a person to log in. `why` is a complete sentence. */
export function loginNeeded(source: string, why: string, cause?: unknown): SourceError {
  return new SourceError('login-needed', why, { hint: `Run ${loginHint(source)}`, cause });
}

/**
 * Returns the error for a refusal that does not show whether the login has ended. The next poll retries; the hint says what to do if
 * the login was revoked.
 */
export function loginMaybeRevoked(source: string, refusal: SourceError): SourceError {
  const { code, message, httpStatus } = refusal;
  if (code === 'login-needed' || httpStatus === 404) return refusal;
  const hint = `${refusal.hint} If the login was revoked, run \`leadsync login ${source}\`.`;
  return new SourceError('credentials', message, { hint, httpStatus, cause: refusal });
}

/** Returns the error for stored login tokens that do not match the configuration. `why` is a complete sentence. */
export function loginUnusable(source: string, why: string): SourceError {
  const toFit = 'Undo the change to base_url, client_id, scope or tokens.encryption_key.';
  return new SourceError('login-needed', why, { hint: `${toFit} Or log in again: ${loginHint(source)}` });
}

function loginHint(source: string): string {
  return `\`leadsync login ${source}\`. If the client itself should read the listing, set \`grant: client_credentials\`.`;
}

function describe(oauthError: string | undefined, httpStatus: number, grant: string, source: string) {
  if (oauthError === 'invalid_grant' && grant === 'authorization_code') {
    const message =
      'The service does not accept this code: it was already used, has expired, or belongs to a different login.';
    const hint = `Run \`leadsync login ${source}\` again, and use the new address promptly.`;
    return { code: 'credentials', message, hint } as const;
  }
  const { code, what, hint } = refusalOf(oauthError) ?? UNNAMED;
  const named = oauthError ?? `status ${httpStatus}`;
  const message = `The token endpoint ${what} (${named}, grant ${grant}).`;
  if (grant === 'refresh_token' && oauthError && GRANT_NOT_ALLOWED.has(oauthError)) {
    const toAllow = `Have the service allow this client to use the grant refresh_token: leadsync keeps the stored login and tries it again. Or run \`leadsync login ${source}\`.`;
    return { code: 'login-needed', message, hint: toAllow } as const;
  }
  return { code, message, hint };
}

/** Error codes that refuse the grant type, not the token. */
const GRANT_NOT_ALLOWED: ReadonlySet<string> = new Set(['unauthorized_client', 'unsupported_grant_type']);

interface Refusal {
  readonly code: SourceErrorCode;
  readonly what: string;
  readonly hint: string;
}

const REFUSALS: Readonly<Record<string, Refusal>> = {
  invalid_client: {
    code: 'credentials',
    what: 'does not accept the client id or secret',
    hint: "Correct the source's client_id and client_secret.",
  },
  invalid_grant: {
    code: 'credentials',
    what: 'refuses the grant that the client presents',
    hint: 'Log in again with `leadsync login`, or check the state of the client at the service.',
  },
  unauthorized_client: {
    code: 'credentials',
    what: 'does not allow this client to use this grant',
    hint: 'If the client requires a person to agree, run `leadsync login`; otherwise have the service allow the grant.',
  },
  unsupported_grant_type: {
    code: 'credentials',
    what: 'does not support this grant',
    hint: 'If the service requires a person to agree, run `leadsync login`.',
  },
  invalid_scope: {
    code: 'credentials',
    what: 'does not grant the requested scope',
    hint: "Correct the source's scope, or leave it out.",
  },
  temporarily_unavailable: {
    code: 'server',
    what: 'cannot answer now',
    hint: 'If this persists, ask the operator of the service.',
  },
};

/** Looks up own entries only: the service chooses the code, and every object inherits names such as `constructor`. */
function refusalOf(oauthError: string | undefined): Refusal | undefined {
  return oauthError !== undefined && Object.hasOwn(REFUSALS, oauthError) ? REFUSALS[oauthError] : undefined;
}

const UNNAMED: Refusal = {
  code: 'credentials',
  what: 'refuses the request',
  hint: "Check the source's token_path, client_id and client_secret.",
};

/** Returns the refusal in an error from openid-client, in either of its two forms; undefined for other failures. */
export function readRefusal(error: unknown, grant: string, source: string): GrantRefused | undefined {
  if (error instanceof ResponseBodyError)
    return new GrantRefused(plain(error.error), error.status, grant, source);
  if (error instanceof WWWAuthenticateChallengeError) {
    // Doorkeeper sends this header with every error, and openid-client then ignores the body.
    const named = error.cause.map(({ parameters }) => parameters.error).find((text) => text !== undefined);
    return new GrantRefused(plain(named), error.status, grant, source);
  }
  return undefined;
}

/**
 * Returns the code if it has the form of an RFC 6749 error code; undefined otherwise, so that messages do not repeat any other text from the service.
 */
function plain(code: string | undefined): string | undefined {
  return code !== undefined && /^[a-z_]{1,40}$/.test(code) ? code : undefined;
}
