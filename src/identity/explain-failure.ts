import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import { LoginFailed } from './contract.ts';
import { invalidToken } from './explain-id-token.ts';

/** What leadsync was doing when a request failed: `login` exchanges the code and verifies the ID token. */
type Step = 'discovery' | 'login' | 'userinfo';

/**
 * Returns the failure for an error from openid-client. Omits the error itself, even as its cause, because it contains the whole answer,
 * including codes, tokens and claims. If the error is not about the provider, returns it unchanged.
 */
export function explainFailure(error: unknown, issuer: string, step: Step): unknown {
  const own = ownFailure(error);
  if (own) return own;
  const { host } = new URL(issuer);
  if (error instanceof AuthorizationResponseError) return declined(error.error, host);
  const status = statusOf(error);
  if (step !== 'discovery' && status !== undefined && isOwnFailure(status))
    return broken(`status ${status}`, host);
  if (step === 'userinfo' && (status === 401 || status === 403)) return noUserInfo(status, host);
  if (error instanceof ResponseBodyError) return refused(error.error, error.status, host);
  if (error instanceof WWWAuthenticateChallengeError) return refused('invalid_client', error.status, host);
  if (!(error instanceof ClientError)) return error;
  return step === 'discovery' ? undiscovered(error, issuer) : unanswered(error, host);
}

/** Returns the HTTP status of the answer that caused the error; undefined if no status caused it. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof ResponseBodyError || error instanceof WWWAuthenticateChallengeError)
    return error.status;
  return error instanceof ClientError && error.cause instanceof Response ? error.cause.status : undefined;
}

/** Whether a status means that the provider is overloaded or broken, rather than that the request is wrong. */
function isOwnFailure(status: number): boolean {
  return status >= 500 || status === 429;
}

function broken(what: string, host: string): LoginFailed {
  return new LoginFailed(
    'unreachable',
    `The login provider at ${host} is overloaded or has an internal error${what && ` (${what})`}.`,
    "Try again in a minute. If that does not help, see the provider's log.",
  );
}

/** Returns the failure for a refusal by the UserInfo endpoint (OpenID Connect Core, section 5.3.3). */
function noUserInfo(status: number, host: string): LoginFailed {
  return new LoginFailed(
    'protocol',
    `The login provider at ${host} does not let leadsync read UserInfo (status ${status}), and the ID token lacks a claim that leadsync needs.`,
    'Configure the provider to put email, email_verified and the claims of name_claim and groups_claim into the ID token, or add the scopes that UserInfo needs to admin.oidc.',
  );
}

/** Returns the failure from the transport, which openid-client may have wrapped in its own error. */
function ownFailure(error: unknown): LoginFailed | undefined {
  if (error instanceof LoginFailed) return error;
  return error instanceof Error && error.cause instanceof LoginFailed ? error.cause : undefined;
}

/** Returns the failure for a login that the provider did not complete (RFC 6749, section 4.1.2.1; OpenID Connect Core, section 3.1.2.6). */
function declined(code: string, host: string): LoginFailed {
  if (code === 'access_denied')
    return new LoginFailed(
      'declined',
      `The login provider at ${host} did not let you in, or you cancelled the login.`,
      'If you should have access, ask an administrator of the provider.',
    );
  if (code === 'server_error' || code === 'temporarily_unavailable') return broken(word(code), host);
  if (/^(login|interaction|consent|account_selection)_required$/.test(code))
    return new LoginFailed(
      'declined',
      `The login provider at ${host} did not log you in${named(code)}.`,
      'Try again.',
    );
  return new LoginFailed(
    'client',
    `The login provider at ${host} refused leadsync's request${named(code)}.`,
    'Check client_id and scopes of admin.oidc, and the redirect URI that is registered at the provider; `leadsync check` shows it.',
  );
}

/** Returns the failure for a refusal by the token endpoint (RFC 6749, section 5.2). */
function refused(code: string, status: number, host: string): LoginFailed {
  if (code === 'server_error' || code === 'temporarily_unavailable') return broken(code, host);
  if (code === 'invalid_grant')
    return new LoginFailed(
      'expired',
      `The login provider at ${host} no longer accepts this login${named(code)}.`,
      'Log in again. If that does not help, compare the redirect URI that is registered at the provider with the one that `leadsync check` shows.',
    );
  // Keycloak answers a wrong secret with unauthorized_client and status 401.
  if (code === 'invalid_client' || status === 401)
    return new LoginFailed(
      'client',
      `The login provider at ${host} does not accept leadsync as its client${named(code)}.`,
      'Check client_id and client_secret in admin.oidc.',
    );
  if (code === 'unauthorized_client' || code === 'unsupported_grant_type')
    return new LoginFailed(
      'client',
      `The login provider at ${host} does not let leadsync's client log people in${named(code)}.`,
      'Allow the Authorization Code flow for the client at the provider; Keycloak calls it Standard flow.',
    );
  return new LoginFailed(
    'client',
    `The login provider at ${host} refused leadsync's request for the tokens${named(code)}.`,
    'Compare the redirect URI that is registered at the provider with the one that `leadsync check` shows, and check scopes of admin.oidc.',
  );
}

/** Returns an error code in parentheses, for the end of a sentence; empty if the value is not a code. */
function named(code: string): string {
  return word(code) && ` (${code})`;
}

function word(code: string): string {
  return /^[a-z_]{1,40}$/.test(code) ? code : '';
}

function undiscovered({ code, cause }: ClientError, issuer: string): LoginFailed {
  const { host } = new URL(issuer);
  if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED')
    return new LoginFailed(
      'protocol',
      `The login provider at ${host} calls itself ${issuerIn(cause) ?? 'something else'}, and not ${issuer}.`,
      'Set admin.oidc.issuer to exactly the issuer that the provider names.',
    );
  const status = cause instanceof Response && cause.status !== 200 ? ` (status ${cause.status})` : '';
  return new LoginFailed(
    'protocol',
    `There is no OpenID configuration below ${issuer}${status}.`,
    'Check admin.oidc.issuer, and whether a proxy answers instead of the provider.',
  );
}

/** Returns the issuer that a discovery document names, if it is an address. */
function issuerIn(cause: unknown): string | undefined {
  const issuer = (cause as { body?: { issuer?: unknown } } | undefined)?.body?.issuer;
  return typeof issuer === 'string' && issuer.length <= 200 && URL.canParse(issuer)
    ? new URL(issuer).href
    : undefined;
}

/** Error codes for answers that do not have the form that OpenID Connect requires. */
const MALFORMED: ReadonlySet<string | undefined> = new Set([
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_PARSE_ERROR',
]);

/** Returns the failure for an invalid answer from an endpoint, or an invalid ID token. */
function unanswered({ code, cause }: ClientError, host: string): LoginFailed {
  if (MALFORMED.has(code)) return malformed(cause, host);
  const detail = (cause as Error | undefined)?.cause;
  if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED')
    return new LoginFailed(
      'token',
      `UserInfo from ${host} is about a different person than the ID token, so leadsync does not accept it.`,
      'Log in again. If that does not help, check whether a proxy answers instead of the provider.',
    );
  const body = (detail as { body?: Readonly<Record<string, unknown>> } | undefined)?.body;
  if (body === undefined) return invalidToken(code, detail, host);
  if (typeof body['access_token'] !== 'string' || body['id_token'] !== undefined)
    return malformed(cause, host);
  return new LoginFailed(
    'protocol',
    `The login provider at ${host} sent no ID token.`,
    'Check that it speaks OpenID Connect and not OAuth 2.0 alone, and that the client may use the scope openid.',
  );
}

function malformed(cause: unknown, host: string): LoginFailed {
  const status = cause instanceof Response ? ` (status ${cause.status})` : '';
  return new LoginFailed(
    'protocol',
    `The login provider at ${host} did not send a valid answer${status}.`,
    'Check whether a proxy answers instead of the provider.',
  );
}
