import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import { LoginFailed } from './contract.ts';

/** What leadsync was doing when a request failed. */
type Step = 'discovery' | 'login';

/**
 * Returns the failure for an error of openid-client. Omits the error itself, even as its cause: it contains the whole answer, including codes,
 * tokens and claims. Returns an error that is not about the provider unchanged.
 */
export function explainFailure(error: unknown, issuer: string, step: Step): unknown {
  const own = ownFailure(error);
  if (own) return own;
  const { host } = new URL(issuer);
  if (error instanceof AuthorizationResponseError) return declined(error.error, host);
  if (error instanceof ResponseBodyError) return refused(error.error, host);
  if (error instanceof WWWAuthenticateChallengeError) return refused('invalid_client', host);
  if (!(error instanceof ClientError)) return error;
  return step === 'discovery' ? undiscovered(error, issuer) : unanswered(error, host);
}

/** Returns the failure of the transport, which openid-client may have wrapped. */
function ownFailure(error: unknown): LoginFailed | undefined {
  if (error instanceof LoginFailed) return error;
  return error instanceof Error && error.cause instanceof LoginFailed ? error.cause : undefined;
}

/** A failed login at the provider (RFC 6749, section 4.1.2.1; OpenID Connect Core, section 3.1.2.6). */
function declined(code: string, host: string): LoginFailed {
  if (code === 'access_denied')
    return new LoginFailed(
      'declined',
      `The login provider at ${host} did not let you in, or you cancelled the login.`,
      'If you should have access, ask an administrator of the provider.',
    );
  if (code === 'server_error' || code === 'temporarily_unavailable')
    return new LoginFailed(
      'unreachable',
      `The login provider at ${host} has a failure of its own${named(code)}.`,
      'Try again in a minute.',
    );
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

/** A refusal of the token endpoint or the UserInfo endpoint (RFC 6749, section 5.2). */
function refused(code: string, host: string): LoginFailed {
  if (code === 'invalid_grant')
    return new LoginFailed(
      'expired',
      `The login provider at ${host} no longer accepts this login${named(code)}.`,
      'Log in again. If that does not help, compare the redirect URI that is registered at the provider with the one that `leadsync check` shows.',
    );
  return new LoginFailed(
    'client',
    `The login provider at ${host} does not accept leadsync as its client${named(code)}.`,
    'Check client_id and client_secret of admin.oidc.',
  );
}

/** Returns an error code for the end of a sentence, if it is one and not a text. */
function named(code: string): string {
  return /^[a-z_]{1,40}$/.test(code) ? ` (${code})` : '';
}

function undiscovered({ code, cause }: ClientError, issuer: string): LoginFailed {
  const { host } = new URL(issuer);
  if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED')
    return new LoginFailed(
      'protocol',
      `The login provider at ${host} calls itself ${issuerIn(cause) ?? 'something else'}, and not ${issuer}.`,
      'Set admin.oidc.issuer to exactly what the provider writes.',
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

/** An answer that is not valid: of an endpoint, or an ID token (OpenID Connect Core, section 3.1.3.7). */
function unanswered({ code, cause }: ClientError, host: string): LoginFailed {
  if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED')
    return new LoginFailed(
      'token',
      `The login of ${host} has expired or is not valid yet.`,
      "Log in again. If that does not help, set this machine's clock and the provider's.",
    );
  if (
    code === 'OAUTH_RESPONSE_IS_NOT_JSON' ||
    code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' ||
    code === 'OAUTH_PARSE_ERROR'
  ) {
    const status = cause instanceof Response ? ` (status ${cause.status})` : '';
    return new LoginFailed(
      'protocol',
      `The login provider at ${host} did not send a valid answer${status}.`,
      'Check whether a proxy answers instead of the provider.',
    );
  }
  return new LoginFailed(
    'token',
    `The ID token of ${host} is not valid${claimIn(cause)}, so leadsync does not believe it.`,
    'Log in again. If that does not help, check issuer and client_id of admin.oidc.',
  );
}

/** Returns the name of the claim that is wrong, never its value. */
function claimIn(cause: unknown): string {
  const claim = ((cause as Error | undefined)?.cause as { claim?: unknown } | undefined)?.claim;
  const names: Readonly<Record<string, string>> = {
    iss: ': it is from another issuer',
    aud: ': it is for another client',
    nonce: ': it belongs to another login',
  };
  return (typeof claim === 'string' ? names[claim] : undefined) ?? '';
}
