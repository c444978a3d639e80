import type { IncomingMessage, ServerResponse } from 'node:http';
import { drained } from '../../test/support/servers/drained.ts';
import { now } from './now.ts';
import type { RenderedListing } from './rendered-listing.ts';

/** A listing with the way in which it is served. */
export interface Served {
  readonly listing: RenderedListing;
  /** Whether answers have an ETag, so that a reader can get a 304. */
  readonly etag: boolean;
  /** Leads to add after each answer. */
  readonly growBy: number;
  /** Delay of each answer. */
  readonly delayMs: number;
}

/** The state of a listing in one answer. */
export interface Answered {
  readonly first: number;
  readonly newest: number;
  readonly revision: number;
}

/** Called before the last byte of each listing is written, with the time in ms since 1970. */
export type OnLastByte = (answered: Answered, at: number) => void;

/** Answers `POST /oauth/token` and `GET /api/v1/leads` from rendered bytes. Accepts any credentials. */
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
  // The kernel has taken everything but the closing bracket, which completes the listing.
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
