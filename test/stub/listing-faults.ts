import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { drained } from '../support/servers/drained.ts';
import { byteLength, head } from './listing-body.ts';
import { type Manner, sendText } from './manner.ts';
import type { Misbehaviour } from './misbehaviour.ts';

/** What a fault has at hand in place of sending the listing as it should be. */
export interface ListingAnswering {
  readonly res: ServerResponse;
  readonly misbehaviour: Misbehaviour<string>;
  readonly manner: Manner;
  readonly headers: OutgoingHttpHeaders;
  /** The right body, from its start each time. */
  bytes(): Iterable<Buffer>;
}

/** Answers in its own way. @returns whether what was sent is a listing that a reader should have taken */
export type ListingFault = (answering: ListingAnswering) => Promise<boolean>;

/** Every way in which the transport, or the text of the listing as a whole, goes wrong. */
export const listingFaults = {
  /** A length is announced, half of it is sent, the connection breaks. */
  truncated: async ({ res, headers, bytes }) => {
    const length = byteLength(bytes());
    res.writeHead(200, { ...headers, 'content-length': length });
    await sendPart(res, head(bytes(), Math.floor(length / 2)));
    return broken(res);
  },
  /** Chunked, without the last chunk. */
  'truncated-chunked': async ({ res, headers, bytes }) => {
    res.writeHead(200, headers);
    await sendPart(res, head(bytes(), Math.floor(byteLength(bytes()) / 2)));
    return broken(res);
  },
  /** HTTP is content, but half of the JSON is missing: as behind a proxy that gave up. */
  'cut-short': async ({ res, headers, bytes }) =>
    unreadable(send(res, headers, head(bytes(), Math.floor(byteLength(bytes()) / 2)))),
  /** Everything but the final bracket. */
  'no-final-bracket': async ({ res, headers, bytes }) =>
    unreadable(send(res, headers, head(bytes(), byteLength(bytes()) - 1))),
  /** Reset before anything was said. */
  reset: async ({ res }) => {
    res.socket?.resetAndDestroy();
    return false;
  },
  /** Reset in the middle of the body. */
  'reset-midway': async ({ res, headers, bytes }) => {
    res.writeHead(200, headers);
    await sendPart(res, head(bytes(), Math.floor(byteLength(bytes()) / 2)));
    res.socket?.resetAndDestroy();
    return false;
  },
  /** No answer, ever. */
  hang: async () => false,
  /** Half of the body, then silence. */
  'hang-midway': async ({ res, headers, bytes }) => {
    res.writeHead(200, headers);
    await sendPart(res, head(bytes(), Math.floor(byteLength(bytes()) / 2)));
    return false;
  },
  /** A byte, a pause (250 ms unless said), a byte. */
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
  /** The right listing, late (2 s unless said). */
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
  /** 304 to a request without a condition. */
  'unasked-not-modified': async ({ res }) => {
    res.writeHead(304);
    res.end();
    return false;
  },
  'empty-body': async ({ res, headers }) => unreadable(send(res, headers, [])),
  /** The right listing, said to be plain text. A reader may take it or leave it. */
  'wrong-content-type': async ({ res, headers, bytes }) =>
    unreadable(send(res, { ...headers, 'content-type': 'text/plain' }, bytes())),
  /** The right listing after a byte-order mark. */
  bom: async ({ res, headers, bytes }) => readable(send(res, headers, joined('\ufeff', bytes()))),
  /** A byte in a client's name that UTF-8 does not have. */
  'bad-utf8': async ({ res, headers, bytes }) => unreadable(send(res, headers, spoilt(bytes()))),
  /** The gzip stream ends in its middle, the HTTP answer is complete. */
  'gzip-cut': async ({ res, headers, bytes }) => {
    const zipped = gzipSync(Buffer.concat([...bytes()]));
    const half = zipped.subarray(0, Math.floor(zipped.length / 2));
    return unreadable(send(res, { ...headers, 'content-encoding': 'gzip' }, [half]));
  },
  /** 8 GB of one client's name in 8 MB. */
  'gzip-bomb': async ({ res, headers }) =>
    unreadable(send(res, { ...headers, 'content-encoding': 'gzip' }, bomb())),
  /** The array inside an object, as many services have it. */
  object: async ({ res, headers, bytes }) =>
    unreadable(send(res, headers, joined('{"leads":', bytes(), '}'))),
  'trailing-text': async ({ res, headers, bytes }) =>
    unreadable(send(res, headers, joined('', bytes(), '\n<!-- served in 12 ms -->'))),
  /** 401, however good the token. */
  unauthorized: async ({ res, manner }) => {
    manner.unauthorized(res, 'revoked');
    return false;
  },
  forbidden: async ({ res, manner }) => {
    manner.forbidden(res);
    return false;
  },
  'not-found': async ({ res }) => status(res, 404),
  /** To an address that would serve the listing if it were followed. */
  redirect: async ({ res }) => status(res, 302, { location: '/api/v1/leads?from=redirect' }),
  'rate-limited': async ({ res, misbehaviour }) =>
    status(res, 429, { 'retry-after': misbehaviour.retryAfter ?? '2' }),
  'server-error': async ({ res }) => status(res, 500),
  unavailable: async ({ res, misbehaviour }) =>
    status(res, 503, { 'retry-after': misbehaviour.retryAfter ?? '2' }),
} as const satisfies Record<string, ListingFault>;

export type ListingFaultName = keyof typeof listingFaults;

/** Sends a whole answer. @returns whether the other side was there to its end */
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

/** Whether the reader went away, which is its right. */
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

/** Ends the connection once what was written has left. */
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

/** gzip members one after the other are one gzip stream (RFC 1952, section 2.2). */
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
