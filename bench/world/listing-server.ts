import type { IncomingMessage, ServerResponse } from 'node:http';
import { drained } from '../../test/support/servers/drained.ts';
import { now } from './now.ts';
import type { RenderedListing } from './rendered-listing.ts';

/** A listing that is served, and how. */
export interface Served {
  readonly listing: RenderedListing;
  /** Whether it has an ETag, so that a reader may be answered with 304. */
  readonly etag: boolean;
  /** New leads after each answer. */
  readonly growBy: number;
  /** How long an answer is held back, in ms. */
  readonly delayMs: number;
}

/** A listing as one answer has it. */
export interface Answered {
  readonly first: number;
  readonly newest: number;
  readonly revision: number;
}

/** Told of each listing that is about to end, and when its last byte was written, in ms since 1970. */
export type OnLastByte = (answered: Answered, at: number) => void;

/** Answers `POST /oauth/token` and `GET /api/v1/leads` as described, from ready bytes. Checks no credentials. */
export async function answerService(
  req: IncomingMessage,
  res: ServerResponse,
  served: Served,
  onLastByte: OnLastByte,
): Promise<void> {
  if (req.url?.endsWith('/oauth/token')) return answerToken(req, res);
  if (served.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, served.delayMs));
  const { listing } = served;
  const etag = `"${listing.revision}"`;
  if (served.etag && req.headers['if-none-match'] === etag) {
    res.writeHead(304, { etag }).end();
    return;
  }
  const { first, newest, revision } = listing;
  const body = listing.body();
  const length = body.reduce((sum, piece) => sum + piece.length, 0);
  res.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': length,
    ...(served.etag ? { etag } : {}),
  });
  for (const piece of body.slice(0, -1)) {
    if (!res.write(piece)) await drained(res);
    if (res.destroyed) return;
  }
  // All but the closing bracket has been taken by the kernel: it is the last byte that makes a listing complete.
  onLastByte({ first, newest, revision }, now());
  res.end(body.at(-1));
  listing.grow(served.growBy);
}

function answerToken(req: IncomingMessage, res: ServerResponse): void {
  req.resume();
  res.writeHead(200, { 'content-type': 'application/json' });
  const createdAt = Math.floor(Date.now() / 1000);
  res.end(
    JSON.stringify({
      access_token: 'bench-access',
      token_type: 'Bearer',
      expires_in: 86_400,
      created_at: createdAt,
      refresh_token: 'bench-refresh',
    }),
  );
}
