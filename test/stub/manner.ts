import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Grant, IssuedTokens, TokenFault } from './tokens.ts';

/** An error of the token endpoint (RFC 6749, section 5.2). */
export interface OAuthError {
  readonly error: string;
  readonly description: string;
}

/** How the service answers where its description leaves the choice open. */
export interface Manner {
  /** Whether the answer to this grant contains a refresh token. */
  refreshTokenFor(grant: Grant): boolean;
  tokenAnswer(tokens: IssuedTokens, lifetimeSeconds: number): Record<string, unknown>;
  tokenError(res: ServerResponse, error: OAuthError): void;
  /** Answers a request for a listing without a valid token. */
  unauthorized(res: ServerResponse, fault: TokenFault): void;
  /** Answers a request whose token is valid but may not read the listing. */
  forbidden(res: ServerResponse): void;
  listingHeaders(): OutgoingHttpHeaders;
}

/** The described service and no more: JSON errors, and a refresh token in every answer. */
export const plainManner: Manner = {
  refreshTokenFor: () => true,
  tokenAnswer: (tokens, lifetimeSeconds) => ({
    access_token: tokens.accessToken,
    token_type: 'Bearer',
    expires_in: lifetimeSeconds,
    created_at: Math.floor(tokens.createdAt.getTime() / 1000),
    refresh_token: tokens.refreshToken,
  }),
  tokenError: (res, { error, description }) =>
    sendJson(res, error === 'invalid_client' ? 401 : 400, { error, error_description: description }),
  unauthorized: (res) => sendJson(res, 401, { error: 'invalid_token' }),
  forbidden: (res) => sendJson(res, 403, { error: 'insufficient_scope' }),
  listingHeaders: () => ({}),
};

const TOKEN_FAULTS: Record<TokenFault, string> = {
  invalid: 'The access token is invalid',
  expired: 'The access token expired',
  revoked: 'The access token was revoked',
};

/** Answers as a Rails service with Doorkeeper 5 does, as measured on one. */
export const doorkeeperManner: Manner = {
  refreshTokenFor: (grant) => grant !== 'client_credentials',
  tokenAnswer: (tokens, lifetimeSeconds) => ({
    access_token: tokens.accessToken,
    token_type: 'Bearer',
    expires_in: lifetimeSeconds,
    ...(tokens.refreshToken === undefined ? {} : { refresh_token: tokens.refreshToken }),
    scope: tokens.scope,
    created_at: Math.floor(tokens.createdAt.getTime() / 1000),
  }),
  tokenError: (res, { error, description }) =>
    sendJson(
      res,
      error === 'invalid_client' ? 401 : 400,
      { error, error_description: description },
      { ...railsHeaders(), 'www-authenticate': challenge(error, description) },
    ),
  unauthorized: (res, fault) => {
    res.writeHead(401, {
      ...railsHeaders(),
      'content-type': 'text/html',
      'content-length': 0,
      'www-authenticate': challenge('invalid_token', TOKEN_FAULTS[fault]),
    });
    res.end();
  },
  forbidden: (res) => {
    res.writeHead(403, { ...railsHeaders(), 'content-type': 'text/html', 'content-length': 0 });
    res.end();
  },
  listingHeaders: () => ({
    ...railsHeaders(),
    'cache-control': 'max-age=0, private, must-revalidate',
    vary: 'Accept, Origin',
  }),
};

/** Sends JSON with its length. */
export function sendJson(
  res: ServerResponse,
  status: number,
  body: unknown,
  headers: OutgoingHttpHeaders = {},
): void {
  sendText(res, status, JSON.stringify(body), {
    'content-type': 'application/json; charset=utf-8',
    ...headers,
  });
}

/** Sends a text with its length. */
export function sendText(
  res: ServerResponse,
  status: number,
  text: string,
  headers: OutgoingHttpHeaders,
): void {
  const bytes = Buffer.from(text);
  res.writeHead(status, { 'content-length': bytes.length, ...headers });
  res.end(bytes);
}

/** Reads a request's body, up to 64 KB. @throws RangeError if it is longer */
export async function readBody(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > 65_536) throw new RangeError('the request is longer than 64 KB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function challenge(error: string, description: string): string {
  return `Bearer realm="Doorkeeper", error="${error}", error_description="${description}"`;
}

function railsHeaders(): OutgoingHttpHeaders {
  return { 'cache-control': 'no-store', 'x-request-id': randomUUID(), 'x-runtime': '0.012345' };
}
