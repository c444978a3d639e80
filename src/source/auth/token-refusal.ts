import { ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client';
import { SourceError, type SourceErrorCode } from '../contract/source.ts';

/** The token endpoint understood the request and does not grant it (RFC 6749, section 5.2). */
export class GrantRefused extends SourceError {
  /** The error code of RFC 6749, such as `invalid_grant`; undefined when the answer names none. */
  readonly oauthError: string | undefined;

  constructor(oauthError: string | undefined, httpStatus: number, grant: string, source: string) {
    const { code, message, hint } = describe(oauthError, httpStatus, grant, source);
    super(code, message, { hint, httpStatus });
    this.oauthError = oauthError;
  }

  /** Whether the answer is an error of OAuth, and not that of something else at this address. */
  get isNamed(): boolean {
    return refusalOf(this.oauthError) !== undefined;
  }
}

/** What says that the client is refused, whatever token it shows. */
const CLIENT_REFUSED: ReadonlySet<string | undefined> = new Set(['invalid_client']);
/** Failures that pass by themselves. */
const PASSING: ReadonlySet<SourceErrorCode> = new Set(['rate-limited', 'server']);

/** Whether the service refuses the refresh token that it was shown, in whatever words: its description says nothing of errors. */
export function refusesToken(error: unknown): error is SourceError {
  if (!(error instanceof SourceError) || PASSING.has(error.code)) return false;
  if (error instanceof GrantRefused && CLIENT_REFUSED.has(error.oauthError)) return false;
  const { httpStatus = 0 } = error;
  return httpStatus >= 400 && httpStatus < 500;
}

/** The service sent the browser back without a code (RFC 6749, section 4.1.2.1); the token endpoint was never asked. */
export function accessRefused(error: string, source: string): SourceError {
  const [what, hint] =
    error === 'access_denied'
      ? ['access was not granted', `Run \`leadsync login ${source}\` again, and agree.`]
      : ['it gives no code', refusalOf(error)?.hint ?? 'See how the client is registered at the service.'];
  const named = plain(error) ?? 'for a reason that it does not name';
  return new SourceError('credentials', `The service says that ${what} (${named}).`, { hint });
}

/** Only a person can go on from here. `why` is a whole sentence. */
export function loginNeeded(source: string, why: string, cause?: unknown): SourceError {
  return new SourceError('login-needed', why, { hint: `Run ${loginHint(source)}`, cause });
}

/** A refusal that does not say whether the login has ended: it is tried again, and a person who knows need not wait. */
export function loginDoubted(source: string, refusal: SourceError): SourceError {
  const { code, message, httpStatus } = refusal;
  if (code === 'login-needed' || httpStatus === 404) return refusal;
  const hint = `${refusal.hint} If the login was revoked, run \`leadsync login ${source}\`.`;
  return new SourceError('credentials', message, { hint, httpStatus, cause: refusal });
}

/** The tokens of a login are there, and the configuration does not fit them. `why` is a whole sentence. */
export function loginUnusable(source: string, why: string): SourceError {
  const toFit = 'Put right what has changed in base_url, client_id, scope or tokens.encryption_key.';
  return new SourceError('login-needed', why, { hint: `${toFit} Or log in again: ${loginHint(source)}` });
}

function loginHint(source: string): string {
  return `\`leadsync login ${source}\`. If the client itself is to read the listing, set \`grant: client_credentials\`.`;
}

function describe(oauthError: string | undefined, httpStatus: number, grant: string, source: string) {
  if (oauthError === 'invalid_grant' && grant === 'authorization_code') {
    const message = 'The service does not take this code: it is used up, too old, or from another login.';
    const hint = `Run \`leadsync login ${source}\` again, and use the newest address soon.`;
    return { code: 'credentials', message, hint } as const;
  }
  const { code, what, hint } = refusalOf(oauthError) ?? UNNAMED;
  const named = oauthError ?? `status ${httpStatus}`;
  const message = `The token endpoint ${what} (${named}, grant ${grant}).`;
  if (grant === 'refresh_token' && oauthError && GRANT_NOT_ALLOWED.has(oauthError)) {
    const toAllow = `Have the service allow the grant refresh_token to this client: the stored login is kept, and tried again. Or run \`leadsync login ${source}\`.`;
    return { code: 'login-needed', message, hint: toAllow } as const;
  }
  return { code, message, hint };
}

/** What the service refuses is the way to ask, and not the token that was shown. */
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
    hint: 'Correct client_id and client_secret of the source.',
  },
  invalid_grant: {
    code: 'credentials',
    what: 'refuses what the client shows to get a token',
    hint: 'Log in again with `leadsync login`, or see what has become of the client at the service.',
  },
  unauthorized_client: {
    code: 'credentials',
    what: 'does not allow this client to get a token in this way',
    hint: 'If the client needs a person to agree, run `leadsync login`; else have the grant allowed at the service.',
  },
  unsupported_grant_type: {
    code: 'credentials',
    what: 'does not know this way to get a token',
    hint: 'If the service wants a person to agree, run `leadsync login`.',
  },
  invalid_scope: {
    code: 'credentials',
    what: 'does not give the scope that is asked for',
    hint: 'Correct scope of the source, or leave it out.',
  },
  temporarily_unavailable: {
    code: 'server',
    what: 'cannot answer now',
    hint: 'If it stays so, ask those who run the service.',
  },
};

/** The service chooses the code, and every object inherits entries such as `constructor`. */
function refusalOf(oauthError: string | undefined): Refusal | undefined {
  return oauthError !== undefined && Object.hasOwn(REFUSALS, oauthError) ? REFUSALS[oauthError] : undefined;
}

const UNNAMED: Refusal = {
  code: 'credentials',
  what: 'refuses the request',
  hint: 'See whether token_path, client_id and client_secret of the source are right.',
};

/** Reads a refusal from what openid-client throws, in each of its two forms; undefined for other failures. */
export function readRefusal(error: unknown, grant: string, source: string): GrantRefused | undefined {
  if (error instanceof ResponseBodyError)
    return new GrantRefused(plain(error.error), error.status, grant, source);
  if (error instanceof WWWAuthenticateChallengeError) {
    // Doorkeeper sends this header with every error, and openid-client then does not look into the body.
    const named = error.cause.map(({ parameters }) => parameters.error).find((text) => text !== undefined);
    return new GrantRefused(plain(named), error.status, grant, source);
  }
  return undefined;
}

/** An error code of RFC 6749 is a word; anything longer is not repeated. */
function plain(code: string | undefined): string | undefined {
  return code !== undefined && /^[a-z_]{1,40}$/.test(code) ? code : undefined;
}
