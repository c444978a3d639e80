import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { drained } from '../support/servers/drained.ts';
import { byteLength, head } from './listing-body.ts';
import { type Manner, sendText } from './manner.ts';
import type { Misbehaviour } from './misbehaviour.ts';

/** What a fault can use in place of sending the correct listing. */
export interface ListingAnswering {
  readonly res: ServerResponse;
  readonly misbehaviour: Misbehaviour<string>;
  readonly manner: Manner;
  readonly headers: OutgoingHttpHeaders;
  /** Returns the correct body, from its start on each call. */
  bytes(): Iterable<Buffer>;
}

/** Answers in its own way. @returns whether a reader should accept what was sent as a listing */
export type ListingFault = (answering: ListingAnswering) => Promise<boolean>;

/** Every fault of the transport, or of the listing's text as a whole. */
export const listingFaults = {
  /** Announces a length, sends half of it and breaks the connection. */
  truncated: async ({ res, headers, bytes }) => {
    const length = byteLength(bytes());
    res.writeHead(200, { ...headers, 'content-length': length });
    await sendPart(res, head(bytes(), Math.floor(length / 2)));
    return broken(res);
  },
  /** Sends a chunked body without the last chunk. */
  'truncated-chunked': async ({ res, headers, bytes }) => {
    res.writeHead(200, headers);
    await sendPart(res, head(bytes(), Math.floor(byteLength(bytes()) / 2)));
    return broken(res);
  },
  /** Sends complete HTTP with half of the JSON, as a proxy that gave up would. */
  'cut-short': async ({ res, headers, bytes }) =>
    unreadable(send(res, headers, head(bytes(), Math.floor(byteLength(bytes()) / 2)))),
  /** Sends everything but the final bracket. */
  'no-final-bracket': async ({ res, headers, bytes }) =>
    unreadable(send(res, headers, head(bytes(), byteLength(bytes()) - 1))),
  /** Resets the connection before any answer. */
  reset: async ({ res }) => {
    res.socket?.resetAndDestroy();
    return false;
  },
  /** Resets the connection in the middle of the body. */
  'reset-midway': async ({ res, headers, bytes }) => {
    res.writeHead(200, headers);
    await sendPart(res, head(bytes(), Math.floor(byteLength(bytes()) / 2)));
    res.socket?.resetAndDestroy();
    return false;
  },
  /** Never answers. */
  hang: async () => false,
  /** Sends half of the body, then nothing. */
  'hang-midway': async ({ res, headers, bytes }) => {
    res.writeHead(200, headers);
    await sendPart(res, head(bytes(), Math.floor(byteLength(bytes()) / 2)));
    return false;
  },
  /** Sends one byte at a time with a pause between (250 ms by default). */
  trickle: async ({ res, headers, bytes, misbehaviour }) => {
    res.writeHead(200, headers);
    for (const chunk of bytes()) {
      for (const byte of chunk) {
        if (res.destroyed) return false;
        res.write(Buffer.of(byte));
        await pause(res, misbehaviour.delayMs ?? 250);
      }
    }
    res.end();
    return true;
  },
  /** Sends the correct listing late (after 2 s by default). */
  slow: async ({ res, headers, bytes, misbehaviour }) => {
    await pause(res, misbehaviour.delayMs ?? 2_000);
    if (res.destroyed) return false;
    return readable(send(res, headers, bytes()));
  },
  html: async ({ res }) => page(res, 200),
  'bad-gateway': async ({ res }) => page(res, 502),
  'no-content': async ({ res }) => {
    res.writeHead(204);
    res.end();
    return false;
  },
  /** Answers 304 to a request without a condition. */
  'unasked-not-modified': async ({ res }) => {
    res.writeHead(304);
    res.end();
    return false;
  },
  'empty-body': async ({ res, headers }) => unreadable(send(res, headers, [])),
  /** Sends the correct listing as plain text, which a reader may accept or reject. */
  'wrong-content-type': async ({ res, headers, bytes }) =>
    unreadable(send(res, { ...headers, 'content-type': 'text/plain' }, bytes())),
  /** Sends the correct listing after a byte-order mark. */
  bom: async ({ res, headers, bytes }) => readable(send(res, headers, joined('\ufeff', bytes()))),
  /** Sends a client's name with a byte that is not valid UTF-8. */
  'bad-utf8': async ({ res, headers, bytes }) => unreadable(send(res, headers, spoilt(bytes()))),
  /** Sends complete HTTP with a gzip stream that ends in the middle. */
  'gzip-cut': async ({ res, headers, bytes }) => {
    const zipped = gzipSync(Buffer.concat([...bytes()]));
    const half = zipped.subarray(0, Math.floor(zipped.length / 2));
    return unreadable(send(res, { ...headers, 'content-encoding': 'gzip' }, [half]));
  },
  /** Sends 8 GB of one client's name, compressed to 8 MB. */
  'gzip-bomb': async ({ res, headers }) =>
    unreadable(send(res, { ...headers, 'content-encoding': 'gzip' }, bomb())),
  /** Wraps the array in an object, as many services do. */
  object: async ({ res, headers, bytes }) =>
    unreadable(send(res, headers, joined('{"leads":', bytes(), '}'))),
  'trailing-text': async ({ res, headers, bytes }) =>
    unreadable(send(res, headers, joined('', bytes(), '\n<!-- served in 12 ms -->'))),
  /** Answers 401 whatever the token. */
  unauthorized: async ({ res, manner }) => {
    manner.unauthorized(res, 'revoked');
    return false;
  },
  forbidden: async ({ res, manner }) => {
    manner.forbidden(res);
    return false;
  },
  'not-found': async ({ res }) => status(res, 404),
  /** Redirects to an address that would serve the listing. */
  redirect: async ({ res }) => status(res, 302, { location: '/api/v1/leads?from=redirect' }),
  'rate-limited': async ({ res, misbehaviour }) =>
    status(res, 429, { 'retry-after': misbehaviour.retryAfter ?? '2' }),
  'server-error': async ({ res }) => status(res, 500),
  unavailable: async ({ res, misbehaviour }) =>
    status(res, 503, { 'retry-after': misbehaviour.retryAfter ?? '2' }),
} as const satisfies Record<string, ListingFault>;

export type ListingFaultName = keyof typeof listingFaults;

/** Sends a whole answer. @returns whether the client stayed connected to its end */
export async function send(
  res: ServerResponse,
  headers: OutgoingHttpHeaders,
  chunks: Iterable<Buffer>,
): Promise<boolean> {
  res.writeHead(200, headers);
  try {
    await pipeline(Readable.from(chunks, { objectMode: true }), res);
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

/** Whether the error means that the reader disconnected, which it may. */
export function isGone(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ECONNRESET' || code === 'EPIPE';
}

async function sendPart(res: ServerResponse, chunks: Iterable<Buffer>): Promise<void> {
  for (const chunk of chunks) {
    if (res.destroyed) return;
    if (!res.write(chunk)) await drained(res);
  }
}

/** Breaks the connection once the written bytes were sent. */
async function broken(res: ServerResponse): Promise<boolean> {
  const { socket } = res;
  if (socket === null) return false;
  await new Promise<void>((resolve) => socket.write('', () => resolve()));
  socket.destroy();
  return false;
}

function pause(res: ServerResponse, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      res.off('close', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    res.once('close', done);
  });
}

function* joined(before: string, chunks: Iterable<Buffer>, after = ''): Generator<Buffer> {
  yield Buffer.from(before);
  yield* chunks;
  yield Buffer.from(after);
}

function* spoilt(chunks: Iterable<Buffer>): Generator<Buffer> {
  const mark = Buffer.from('"client_name":"');
  let spoiltOne = false;
  for (const chunk of chunks) {
    const at: number = spoiltOne ? -1 : chunk.indexOf(mark) + mark.length;
    if (at < mark.length) yield chunk;
    else yield Buffer.concat([chunk.subarray(0, at), Buffer.of(0xc3, 0x28), chunk.subarray(at)]);
    spoiltOne ||= at >= mark.length;
  }
}

/** Concatenated gzip members form one gzip stream (RFC 1952, section 2.2). */
function* bomb(): Generator<Buffer> {
  yield gzipSync('[{"id":1,"client_name":"');
  const member = gzipSync(Buffer.alloc(64 * 1024 * 1024, 'a'));
  for (let i = 0; i < 128; i++) yield member;
  yield gzipSync('"}]');
}

async function readable(sent: Promise<boolean>): Promise<boolean> {
  return sent;
}

async function unreadable(sent: Promise<boolean>): Promise<boolean> {
  await sent;
  return false;
}

function page(res: ServerResponse, code: number): boolean {
  sendText(res, code, '<!doctype html><title>Just a moment</title><h1>We will be back soon</h1>\n', {
    'content-type': 'text/html; charset=utf-8',
  });
  return false;
}

function status(res: ServerResponse, code: number, headers: OutgoingHttpHeaders = {}): boolean {
  sendText(res, code, '{"error":"the service is not well"}', {
    'content-type': 'application/json',
    ...headers,
  });
  return false;
}
