import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { byteLength, listingBytes } from './listing-body.ts';
import { isGone, type ListingFaultName, listingFaults, send } from './listing-faults.ts';
import { type Manner, sendJson } from './manner.ts';
import type { Misbehaviour } from './misbehaviour.ts';
import { type OddListingName, oddListings } from './odd-leads.ts';
import { type Paging, pageOf } from './paging.ts';
import type { Served } from './served.ts';
import type { Element, ShownLeads, Snapshot } from './shown-leads.ts';
import type { Tokens } from './tokens.ts';

/** Every misbehaviour of the listing. */
export type ListingMisbehaviourName = ListingFaultName | OddListingName;

export interface ListingEndpointOptions {
  readonly manner: Manner;
  readonly tokens: Tokens;
  readonly shown: ShownLeads;
  readonly served: Served;
  /** A token without this scope gets a 403; undefined: every valid token will do. */
  readonly requiredScope: string | undefined;
  /** Whether the leads belong to a person: a token that does not come from a login gets an empty listing. */
  readonly personal: boolean;
  readonly etag: 'none' | 'strong' | 'weak';
  readonly gzip: boolean;
  /** Whether the response announces its length or is chunked. */
  readonly transfer: 'chunked' | 'length';
  readonly paging: Paging | undefined;
  readonly now: () => Date;
}

/** Keeps the tags of two runs apart: they may show different leads under the same revision. */
const thisRun = randomUUID();

/** Answers `GET /api/v1/leads` (service description, section 4.1). */
export async function answerListingRequest(
  req: IncomingMessage,
  res: ServerResponse,
  url: URL,
  options: ListingEndpointOptions,
  misbehaviour: Misbehaviour<ListingMisbehaviourName> | undefined,
): Promise<void> {
  if (req.method !== 'GET') return sendJson(res, 405, { error: 'the listing takes GET' }, { allow: 'GET' });
  if (Number(req.headers['content-length'] ?? 0) > 0 || req.headers['transfer-encoding'] !== undefined) {
    return sendJson(res, 400, { error: 'the listing takes no body' });
  }
  const token = await allowedToken(req, res, options);
  if (token === undefined) return;
  const snapshot = options.shown.snapshot();
  const odd = options.personal && !token.forPerson ? [] : misbehaviour && oddly(misbehaviour.name, snapshot);
  const page = pageOf(() => odd ?? snapshot.elements(), url, options.paging);
  const headers: OutgoingHttpHeaders = {
    'content-type': 'application/json; charset=utf-8',
    ...options.manner.listingHeaders(),
    ...page.headers,
  };
  const etag = etagOf(req, url, snapshot.revision, options);
  if (etag !== undefined && misbehaviour === undefined) {
    headers['etag'] = etag;
    if (req.headers['if-none-match'] === etag) return notModified(res, headers);
  }
  const textOf = (element: Element) => options.shown.textOf(element);
  const answering = {
    res,
    manner: options.manner,
    headers,
    bytes: () => listingBytes(page.elements(), textOf),
  };
  const fault = misbehaviour && faultOf(misbehaviour.name);
  const complete =
    fault !== undefined && misbehaviour !== undefined
      ? await fault({ ...answering, misbehaviour })
      : await sendProperly(req, answering, options);
  if (complete) options.served.record(page.elements(), snapshot.revision);
}

/** Returns undefined if the request was refused. */
async function allowedToken(
  req: IncomingMessage,
  res: ServerResponse,
  { tokens, manner, requiredScope }: ListingEndpointOptions,
): Promise<{ forPerson: boolean } | undefined> {
  const bearer = /^bearer (\S+)$/i.exec(req.headers.authorization ?? '')?.[1];
  const checked = bearer === undefined ? 'invalid' : await tokens.check(bearer);
  if (typeof checked === 'string') {
    manner.unauthorized(res, checked);
    return undefined;
  }
  const allowed = requiredScope === undefined || checked.scope.split(' ').includes(requiredScope);
  if (allowed) return checked;
  manner.forbidden(res);
  return undefined;
}

async function sendProperly(
  req: IncomingMessage,
  { res, headers, bytes }: { res: ServerResponse; headers: OutgoingHttpHeaders; bytes(): Iterable<Buffer> },
  { gzip, transfer }: ListingEndpointOptions,
): Promise<boolean> {
  if (gzip && /\bgzip\b/.test(String(req.headers['accept-encoding'] ?? ''))) {
    return sendGzipped(res, { ...headers, 'content-encoding': 'gzip', vary: 'Accept-Encoding' }, bytes());
  }
  const length = transfer === 'length' ? { 'content-length': byteLength(bytes()) } : {};
  return send(res, { ...headers, ...length }, bytes());
}

async function sendGzipped(
  res: ServerResponse,
  headers: OutgoingHttpHeaders,
  chunks: Iterable<Buffer>,
): Promise<boolean> {
  res.writeHead(200, headers);
  try {
    await pipeline(Readable.from(chunks), createGzip({ level: constants.Z_BEST_SPEED }), res);
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

function oddly(name: ListingMisbehaviourName, snapshot: Snapshot): readonly Element[] | undefined {
  return isOddListing(name) ? oddListings[name]([...snapshot.elements()]) : undefined;
}

function isOddListing(name: ListingMisbehaviourName): name is OddListingName {
  return name in oddListings;
}

function faultOf(name: ListingMisbehaviourName) {
  return isOddListing(name) ? undefined : listingFaults[name];
}

function etagOf(
  req: IncomingMessage,
  url: URL,
  revision: number,
  { etag, gzip, now, shown }: ListingEndpointOptions,
): string | undefined {
  if (etag === 'none') return undefined;
  // Rails computes a weak tag after compression, and the gzip header contains the time.
  const zippedAt = etag === 'weak' && gzip && /\bgzip\b/.test(String(req.headers['accept-encoding'] ?? ''));
  const subject = `${thisRun} ${shown.seed} ${revision} ${url.search} ${zippedAt ? Math.floor(now().getTime() / 1000) : ''}`;
  const digest = createHash('md5').update(subject).digest('hex');
  return etag === 'weak' ? `W/"${digest}"` : `"${digest}"`;
}

function notModified(res: ServerResponse, headers: OutgoingHttpHeaders): void {
  const { 'content-type': _, ...rest } = headers;
  res.writeHead(304, rest);
  res.end();
}
