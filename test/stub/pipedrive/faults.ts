import type { ServerResponse } from 'node:http';
import { fixedAnswers, tooManyRequests, type VendorAnswer } from './vendor-answer.ts';

/** Sends something in place of the usual answer. `usual` is undefined if the request was not carried out. */
type Send = (res: ServerResponse, usual: VendorAnswer | undefined) => void;

const sends = {
  /** Closes the connection without an answer. */
  cut: (res) => void res.socket?.destroy(),
  /** Never answers. */
  silent: () => undefined,
  /** Answers 200 without a body. */
  nothing: (res) => sendAnswer(res, { status: 200 }),
  /** Answers success without saying which record. */
  'no-data': (res) => sendAnswer(res, { status: 200, body: { success: true } }),
  /** Answers 200 with `success: false`. */
  'no-success': (res) =>
    sendAnswer(res, { status: 200, body: { success: false, error: 'Something went wrong' } }),
  /** Answers 200 with a page. */
  html: (res) => sendAnswer(res, fixedAnswers.html),
  /** Sends half of an answer and closes the connection. */
  half: (res, usual) => {
    const text = Buffer.from(JSON.stringify(usual?.body ?? { success: true, data: { id: 1 } }));
    res.writeHead(usual?.status ?? 200, { 'content-type': JSON_TYPE, 'content-length': text.length });
    res.write(text.subarray(0, text.length / 2), () => res.socket?.destroy());
  },
  'server-error': (res) => sendAnswer(res, fixedAnswers.serverError),
  'bad-gateway': (res) => sendAnswer(res, fixedAnswers.badGateway),
  unavailable: (res) => sendAnswer(res, fixedAnswers.unavailable),
  /** The burst limit, whatever the counters say. */
  'too-many-requests': (res) =>
    sendAnswer(
      res,
      tooManyRequests({ 'x-ratelimit-limit': '20', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '2' }),
    ),
  /** The daily limit, whatever the counters say. */
  'tokens-used-up': (res) =>
    sendAnswer(
      res,
      tooManyRequests({
        'x-daily-ratelimit-token-limit': '30000',
        'x-daily-ratelimit-token-remaining': '0',
      }),
    ),
  /** Cloudflare's page after ignored 429s. */
  cloudflare: (res) => sendAnswer(res, fixedAnswers.cloudflare),
} as const satisfies Record<string, Send>;

type SendName = keyof typeof sends;

/**
 * What a request can get in place of its answer. `…-after-storing` carries the request out before; the others do not. `late` carries it out
 * and answers correctly, after the promise of the misbehaviour; `late-storing` carries it out only then.
 */
export type FaultName = SendName | `${SendName}-after-storing` | 'late' | 'late-storing';

/** How a fault is carried out. */
export interface FaultPlan {
  /** Whether the request is carried out, and whether before or after the wait. */
  readonly stores: 'no' | 'first' | 'after-waiting';
  readonly send: Send;
}

/** Returns how to carry out a fault. */
export function planOf(name: FaultName): FaultPlan {
  if (name === 'late') return { stores: 'first', send: sendUsual };
  if (name === 'late-storing') return { stores: 'after-waiting', send: sendUsual };
  const plain = name.replace('-after-storing', '') as SendName;
  return { stores: plain === name ? 'no' : 'first', send: sends[plain] };
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** Sends an answer: an object as JSON, text as HTML. */
export function sendAnswer(res: ServerResponse, { status, headers = {}, body }: VendorAnswer): void {
  if (body === undefined) return void res.writeHead(status, { ...headers, 'content-length': 0 }).end();
  const isPage = typeof body === 'string';
  const text = isPage ? body : JSON.stringify(body);
  const type = isPage ? 'text/html; charset=UTF-8' : JSON_TYPE;
  const length = Buffer.byteLength(text);
  res.writeHead(status, { 'content-type': type, 'content-length': length, ...headers }).end(text);
}

function sendUsual(res: ServerResponse, usual: VendorAnswer | undefined): void {
  if (usual !== undefined) sendAnswer(res, usual);
}
