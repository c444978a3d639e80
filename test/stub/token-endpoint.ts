import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authorization } from './authorization.ts';
import { type Manner, type OAuthError, readBody, sendJson } from './manner.ts';
import type { Misbehaviour } from './misbehaviour.ts';
import { late, type TokenFault, type TokenFaultName, tokenFaults } from './token-faults.ts';
import type { Grant, IssuedTokens, Tokens } from './tokens.ts';

export interface TokenEndpointOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly lifetimeSeconds: number;
  /** The scopes that exist; a request that names none gets all. */
  readonly scopes: readonly string[];
  readonly manner: Manner;
  readonly tokens: Tokens;
  readonly authorization: Authorization;
  /** Called with the grant that a request names, whatever the answer. */
  readonly onGrant: (grant: string) => void;
}

const GRANTS: readonly string[] = ['authorization_code', 'refresh_token', 'client_credentials'];

const invalidGrant: OAuthError = {
  error: 'invalid_grant',
  description:
    'The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the authorization request, or was issued to another client.',
};

/** Answers `POST /oauth/token` (service description, section 4.2), and checks strictly what it says about the request. */
export async function answerTokenRequest(
  req: IncomingMessage,
  res: ServerResponse,
  url: URL,
  options: TokenEndpointOptions,
  misbehaviour: Misbehaviour<TokenFaultName> | undefined,
): Promise<void> {
  const fault: TokenFault | undefined = misbehaviour && tokenFaults[misbehaviour.name];
  const form = await readForm(req, url);
  const grant = form instanceof URLSearchParams ? form.get('grant_type') : undefined;
  if (grant) options.onGrant(grant);
  if (misbehaviour && fault?.instead && (await fault.instead({ res, misbehaviour, grant, options }))) return;
  const issued = form instanceof URLSearchParams ? await grantTokens(form, options) : form;
  if ('error' in issued) return options.manner.tokenError(res, issued);
  // The new tokens are issued and the old ones are ending, but the client never learns of it.
  if (fault?.loseAnswer) return void res.socket?.destroy();
  if (misbehaviour && fault?.delayAnswer && (await late(res, misbehaviour))) return;
  const answer = options.manner.tokenAnswer(issued, options.lifetimeSeconds);
  sendJson(res, 200, fault?.change?.(answer) ?? answer, { 'cache-control': 'no-store', pragma: 'no-cache' });
}

/** Returns the form, or the error of a request that is wrong before its fields are read. */
async function readForm(req: IncomingMessage, url: URL): Promise<URLSearchParams | OAuthError> {
  const body = await readBody(req);
  const type = req.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (req.method !== 'POST') return invalidRequest('The token endpoint takes POST.');
  if (type !== 'application/x-www-form-urlencoded') return invalidRequest('The body must be form-encoded.');
  if (url.search !== '') return invalidRequest('The fields belong into the body.');
  if (req.headers.authorization !== undefined) {
    return { error: 'invalid_client', description: 'The client identifies itself in the form body.' };
  }
  const form = new URLSearchParams(body);
  for (const name of new Set(form.keys())) {
    if (form.getAll(name).length > 1) return invalidRequest(`The field ${name} is there twice.`);
  }
  return form;
}

async function grantTokens(
  form: URLSearchParams,
  options: TokenEndpointOptions,
): Promise<IssuedTokens | OAuthError> {
  const grant = form.get('grant_type');
  if (grant === null) return invalidRequest('Missing required parameter: grant_type.');
  if (!isGrant(grant)) {
    return {
      error: 'unsupported_grant_type',
      description: 'The authorization grant type is not supported by the authorization server.',
    };
  }
  if (!isClient(form, options)) {
    return {
      error: 'invalid_client',
      description:
        'Client authentication failed due to unknown client, no client authentication included, or unsupported authentication method.',
    };
  }
  const scope = form.get('scope') || undefined;
  if (scope?.split(' ').some((word) => !options.scopes.includes(word))) {
    return { error: 'invalid_scope', description: 'The requested scope is invalid, unknown, or malformed.' };
  }
  if (grant === 'refresh_token') return refresh(form, scope, options);
  if (grant === 'authorization_code') return redeem(form, options);
  return issue(grant, scope, options);
}

async function refresh(form: URLSearchParams, scope: string | undefined, { tokens }: TokenEndpointOptions) {
  const refreshToken = form.get('refresh_token');
  if (!refreshToken) return invalidRequest('Missing required parameter: refresh_token.');
  return (await tokens.refresh(refreshToken, scope)) ?? invalidGrant;
}

async function redeem(form: URLSearchParams, options: TokenEndpointOptions) {
  const code = form.get('code');
  const redirectUri = form.get('redirect_uri');
  if (!code) return invalidRequest('Missing required parameter: code.');
  if (!redirectUri) return invalidRequest('Missing required parameter: redirect_uri.');
  const redeemed = options.authorization.redeem(code, redirectUri, form.get('code_verifier') ?? undefined);
  return 'error' in redeemed ? redeemed : issue('authorization_code', redeemed.scope, options);
}

function issue(grant: Grant, scope: string | undefined, { tokens, manner, scopes }: TokenEndpointOptions) {
  return tokens.issue(scope ?? scopes.join(' '), {
    withRefresh: manner.refreshTokenFor(grant),
    forPerson: grant === 'authorization_code',
  });
}

function isGrant(text: string): text is Grant {
  return GRANTS.includes(text);
}

function isClient(form: URLSearchParams, { clientId, clientSecret }: TokenEndpointOptions): boolean {
  return same(form.get('client_id') ?? '', clientId) && same(form.get('client_secret') ?? '', clientSecret);
}

function same(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

function invalidRequest(description: string): OAuthError {
  return { error: 'invalid_request', description };
}
