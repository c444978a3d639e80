import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendJson, sendText } from './manner.ts';
import type { Misbehaviour } from './misbehaviour.ts';
import type { TokenEndpointOptions } from './token-endpoint.ts';

interface TokenAnswering {
  readonly res: ServerResponse;
  readonly misbehaviour: Misbehaviour<string>;
  readonly grant: string | null | undefined;
  readonly options: TokenEndpointOptions;
}

export interface TokenFault {
  /** Answers in place of the endpoint. Returns false if it did not, and the endpoint continues. */
  readonly instead?: (answering: TokenAnswering) => boolean | Promise<boolean>;
  /** Changes the JSON of a correct answer. */
  readonly change?: (answer: Record<string, unknown>) => Record<string, unknown>;
  /** Whether to issue the tokens and then break the connection. */
  readonly loseAnswer?: boolean;
  /** Whether to issue the tokens and then answer late. */
  readonly delayAnswer?: boolean;
}

type Answer = Record<string, unknown>;

/** Every misbehaviour of the token endpoint. */
export const tokenFaults = {
  /** Resets the connection before an answer. */
  down: { instead: ({ res }) => done(res.socket?.resetAndDestroy()) },
  /** Sends the correct answer late. */
  slow: { instead: ({ res, misbehaviour }) => late(res, misbehaviour) },
  /** Never answers. */
  hang: { instead: () => true },
  /** Sends the headers and half of the body, then nothing. */
  'hang-midway': {
    instead: ({ res }) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': 500 });
      return done(res.write('{"access_token":"'));
    },
  },
  /** Announces a length, sends half of it and breaks the connection. */
  truncated: {
    instead: async ({ res }) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': 500 });
      res.write('{"access_token":"');
      await sleep(20);
      return done(res.socket?.destroy());
    },
  },
  /** Sends complete HTTP with half of the JSON, as a proxy that gave up would. */
  'cut-off': {
    instead: ({ res }) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      return done(res.end('{"access_token":"canary-half","token_ty'));
    },
  },
  /** Answers 401: the client is unknown. */
  unauthorized: {
    instead: ({ res, options }) => refused(res, options, 'invalid_client', 'Client authentication failed.'),
  },
  'bad-request': {
    instead: ({ res, options }) =>
      refused(res, options, 'invalid_request', 'The request is missing something.'),
  },
  /** Refuses every grant. */
  'invalid-grant': {
    instead: ({ res, options }) => refused(res, options, 'invalid_grant', 'The provided grant is invalid.'),
  },
  /** Refuses refresh tokens; other grants work. */
  'refresh-revoked': {
    instead: ({ res, options, grant }) =>
      grant === 'refresh_token' && refused(res, options, 'invalid_grant', 'The refresh token was revoked.'),
  },
  /** Does not permit this client to use refresh tokens; other grants work. */
  'refresh-unauthorized': {
    instead: ({ res, options, grant }) =>
      grant === 'refresh_token' &&
      refused(res, options, 'unauthorized_client', 'The client may not use this grant.'),
  },
  /** Does not support refresh tokens; other grants work. */
  'refresh-unsupported': {
    instead: ({ res, options, grant }) =>
      grant === 'refresh_token' &&
      refused(res, options, 'unsupported_grant_type', 'The grant type is not supported.'),
  },
  /** Answers 404: nothing exists at this address. */
  'not-found': { instead: ({ res }) => status(res, 404) },
  'rate-limited': { instead: ({ res, misbehaviour }) => status(res, 429, misbehaviour.retryAfter ?? '2') },
  'server-error': { instead: ({ res }) => status(res, 500) },
  unavailable: { instead: ({ res, misbehaviour }) => status(res, 503, misbehaviour.retryAfter ?? '2') },
  /** Sends a proxy's error page with status 502. */
  'bad-gateway': { instead: ({ res }) => html(res, 502) },
  /** Sends a page with status 200. */
  html: { instead: ({ res }) => html(res, 200) },
  'not-json': {
    instead: ({ res }) =>
      done(sendText(res, 200, '{"access_token":', { 'content-type': 'application/json' })),
  },
  'no-token-type': { change: (answer) => without(answer, 'token_type') },
  'lower-case-bearer': { change: (answer) => ({ ...answer, token_type: 'bearer' }) },
  'no-access-token': { change: (answer) => without(answer, 'access_token') },
  'expires-missing': { change: (answer) => without(answer, 'expires_in') },
  'expires-zero': { change: (answer) => ({ ...answer, expires_in: 0 }) },
  'expires-text': { change: (answer) => ({ ...answer, expires_in: '3600' }) },
  'expires-huge': { change: (answer) => ({ ...answer, expires_in: 1e15 }) },
  'expires-null': { change: (answer) => ({ ...answer, expires_in: null }) },
  'no-refresh-token': { change: (answer) => without(answer, 'refresh_token') },
  'refresh-null': { change: (answer) => ({ ...answer, refresh_token: null }) },
  /** Issues the tokens, rotates a used refresh token, and never delivers the answer. */
  'answer-lost': { loseAnswer: true },
  /** Issues the tokens, rotates a used refresh token, and answers late. */
  'answer-slow': { delayAnswer: true },
} as const satisfies Record<string, TokenFault>;

export type TokenFaultName = keyof typeof tokenFaults;

function done(_: unknown): true {
  return true;
}

/** Waits before the endpoint answers. Returns true if the client has stopped waiting. */
export async function late(
  res: ServerResponse,
  { delayMs = 2_000, until }: Pick<Misbehaviour<string>, 'delayMs' | 'until'>,
): Promise<boolean> {
  const closed = new AbortController();
  res.once('close', () => closed.abort());
  const gone = once(closed.signal, 'abort');
  const waited = until ?? sleep(delayMs, undefined, { signal: closed.signal }).catch(() => undefined);
  await Promise.race([waited, gone]);
  return res.destroyed;
}

function refused(
  res: ServerResponse,
  options: TokenEndpointOptions,
  error: string,
  description: string,
): true {
  return done(options.manner.tokenError(res, { error, description }));
}

function status(res: ServerResponse, code: number, retryAfter?: string): true {
  return done(
    sendJson(
      res,
      code,
      { error: 'the service is not well' },
      retryAfter ? { 'retry-after': retryAfter } : {},
    ),
  );
}

function html(res: ServerResponse, code: number): true {
  return done(
    sendText(res, code, '<!doctype html><title>Just a moment</title><h1>We will be back soon</h1>\n', {
      'content-type': 'text/html; charset=utf-8',
    }),
  );
}

function without(answer: Answer, field: string): Answer {
  const { [field]: _, ...rest } = answer;
  return rest;
}
