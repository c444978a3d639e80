import type { Response } from 'undici';
import type { ListedElement } from '../leads/listed-lead.ts';
import type { Clock } from '../platform/clock.ts';
import type { Element } from './element-bytes.ts';
import { nextLink } from './link-header.ts';
import { listedElement } from './listed-item.ts';
import { ListingBody, unlessSame } from './listing-body.ts';
import { ListingRequests } from './listing-request.ts';
import type { SourceOptions } from './options.ts';
import { type PauseParts, withPauses } from './pauses.ts';
import { ReadingTime } from './reading-time.ts';
import { dropBody, type ServiceConnection } from './service-call.ts';
import { type ChangedListing, type Listing, type ListingMark, SourceError } from './source.ts';
import { Splitter } from './splitter.ts';
import type { Tokens } from './tokens.ts';

/** A chunk is full with so many leads or so much text, whichever comes first: the ledger commits it at once. */
const CHUNK_LEADS = 200;
const CHUNK_BYTES = 256 * 1024;
/** A lead does not wait longer than this, in ms, for others to fill its chunk: the rest of the listing may be slow. */
const CHUNK_WAIT_MS = 500;

export interface ListingParts {
  readonly options: SourceOptions;
  readonly connection: ServiceConnection;
  readonly tokens: Tokens;
  readonly clock: Clock;
  /** Where a body may be held back on disk while it is compared with the last one. */
  readonly folder: string;
}

/** Asks for the listing, and recognises it when it is the last one again. @throws SourceError */
export async function readListing(
  parts: ListingParts,
  previous: ListingMark | undefined,
  signal: AbortSignal,
): Promise<Listing> {
  const time = new ReadingTime(parts.options.deadline, signal, parts.clock);
  try {
    const listing = await new Reading(parts, time).start(previous);
    if (listing.kind === 'unchanged') time.end();
    return listing;
  } catch (error) {
    time.end();
    throw error;
  }
}

/** One reading of a listing, from its first page to its last. */
class Reading {
  readonly #parts: ListingParts;
  readonly #time: ReadingTime;
  readonly #requests: ListingRequests;
  #bytes = 0;
  #position = 0;
  #mark: ListingMark | undefined;

  constructor(parts: ListingParts, time: ReadingTime) {
    this.#parts = parts;
    this.#time = time;
    this.#requests = new ListingRequests(parts.connection, parts.tokens);
  }

  async start(previous: ListingMark | undefined): Promise<Listing> {
    const url = this.#firstUrl();
    const { signal } = this.#time;
    const last = this.#parts.options.pagination === 'none' && previous?.url === url ? previous : undefined;
    const response = await this.#requests.ask(url, last?.etag, signal);
    const etag = response.headers.get('etag') ?? undefined;
    if (response.status === 304)
      return { kind: 'unchanged', httpStatus: 304, bytes: 0, mark: last && renewed(last, etag ?? last.etag) };
    const body = new ListingBody(response, signal);
    if (last?.bodyHash === undefined || last.bodyBytes === undefined)
      return this.#changed(url, response, body, body.read());
    const lastBody = { sha256: last.bodyHash, bytes: last.bodyBytes };
    const content = await unlessSame(body, lastBody, this.#parts.folder, this.#pauses());
    if (content === undefined)
      return { kind: 'unchanged', httpStatus: 200, bytes: body.bytes, mark: renewed(last, etag) };
    return this.#changed(url, response, body, content);
  }

  #changed(
    url: string,
    response: Response,
    body: ListingBody,
    content: AsyncIterable<Buffer>,
  ): ChangedListing {
    return {
      kind: 'changed',
      httpStatus: response.status,
      chunks: this.#chunks(url, response, body, content),
      end: () => ({ bytes: this.#bytes, mark: this.#mark }),
    };
  }

  async *#chunks(url: string, response: Response, body: ListingBody, content: AsyncIterable<Buffer>) {
    try {
      if (this.#parts.options.pagination === 'none') {
        yield* this.#readPage(body, content);
        const etag = response.headers.get('etag') ?? undefined;
        this.#mark = { url, etag, bodyHash: body.sha256, bodyBytes: body.bytes };
      } else yield* this.#readPages(url, response, body);
    } finally {
      this.#time.end();
      await dropBody(response); // when the reader leaves early, the connection goes with it
    }
  }

  /** Reads pages to the last one. A page that was there before would make this endless. */
  async *#readPages(firstUrl: string, firstResponse: Response, firstBody: ListingBody) {
    const seen = new Map([[firstUrl, 1]]);
    let [url, response, body] = [firstUrl, firstResponse, firstBody];
    for (let page = 1; ; page++) {
      const before = this.#position;
      try {
        yield* this.#readPage(body, body.read());
      } finally {
        await dropBody(response);
      }
      const isEmpty = this.#position === before;
      const next = this.#nextUrl(url, response, page, isEmpty);
      if (next === undefined) return;
      if (!isEmpty) refuseRepeated(seen, body.sha256, page);
      refuseRepeated(seen, next, page);
      url = next;
      response = await this.#requests.ask(url, undefined, this.#time.signal);
      body = new ListingBody(response, this.#time.signal);
    }
  }

  async *#readPage(
    body: ListingBody,
    content: AsyncIterable<Buffer>,
  ): AsyncGenerator<ListedElement[], void, void> {
    const before = this.#bytes;
    const { clock } = this.#parts;
    const chunk = new Chunk(clock);
    try {
      const splitter = new Splitter(this.#parts.options.max_lead_size);
      for await (const part of withPauses(content, this.#pauses())) {
        this.#bytes = before + body.bytes;
        if (part === undefined) {
          if (!chunk.isEmpty()) yield chunk.take();
          continue;
        }
        for (const element of splitter.push(part)) {
          chunk.add(listedElement(element, this.#position++), sizeOf(element));
          if (chunk.isFull()) yield chunk.take();
        }
        if (chunk.hasWaited()) yield chunk.take();
      }
      splitter.end();
    } catch (error) {
      // What came before the fault is as good as any lead, and a listing that always breaks off would never bring it.
      if (!chunk.isEmpty() && !this.#time.signal.aborted) yield chunk.take();
      throw error;
    }
    if (!chunk.isEmpty()) yield chunk.take();
  }

  #pauses(): PauseParts {
    return { clock: this.#parts.clock, pauseMs: CHUNK_WAIT_MS, cut: () => this.#time.stop() };
  }

  #firstUrl(): string {
    const { base_url, leads_path, pagination } = this.#parts.options;
    const url = base_url + leads_path;
    return pagination === 'page' ? this.#pageUrl(url, 1) : url;
  }

  #pageUrl(url: string, page: number): string {
    const next = new URL(url);
    next.searchParams.set(this.#parts.options.page_parameter, String(page));
    return next.href;
  }

  #nextUrl(url: string, response: Response, page: number, isEmpty: boolean): string | undefined {
    if (this.#parts.options.pagination === 'page') return isEmpty ? undefined : this.#pageUrl(url, page + 1);
    const link = nextLink(response.headers.get('link'));
    if (link === undefined) return undefined;
    const next = URL.parse(link, url);
    // The token goes where the link leads.
    if (next !== null && next.origin === new URL(url).origin) return next.href;
    throw new SourceError('protocol', `Page ${page} of the listing links to a next page on another server.`, {
      hint: 'The token is not sent there. If both are the service, correct base_url, or ask those who run it.',
    });
  }
}

/** The same content under another tag: with the old one the whole body would come every time. */
function renewed(last: ListingMark, etag: string | undefined): ListingMark | undefined {
  return etag === last.etag ? undefined : { ...last, etag };
}

/** Leads on their way to the ledger. */
class Chunk {
  readonly #clock: Clock;
  #elements: ListedElement[] = [];
  #bytes = 0;
  #sinceMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(element: ListedElement, bytes: number): void {
    if (this.isEmpty()) this.#sinceMs = this.#clock.monotonicMs();
    this.#elements.push(element);
    this.#bytes += bytes;
  }

  isEmpty(): boolean {
    return this.#elements.length === 0;
  }

  isFull(): boolean {
    return this.#elements.length >= CHUNK_LEADS || this.#bytes >= CHUNK_BYTES;
  }

  /** Its first lead should not wait any longer. */
  hasWaited(): boolean {
    return !this.isEmpty() && this.#clock.monotonicMs() - this.#sinceMs > CHUNK_WAIT_MS;
  }

  take(): ListedElement[] {
    const elements = this.#elements;
    this.#elements = [];
    this.#bytes = 0;
    return elements;
  }
}

/** What it holds of memory. */
function sizeOf(element: Element): number {
  return element.kind === 'whole' ? element.bytes.length : element.head.length;
}

function refuseRepeated(seen: Map<string, number>, what: string, page: number): void {
  const first = seen.get(what);
  if (first === undefined) return void seen.set(what, page);
  throw new SourceError(
    'protocol',
    `Page ${page} of the listing repeats page ${first}: it would never end.`,
    {
      hint: 'If the service does not divide its listing, set pagination: none; else see which way of paging it uses.',
    },
  );
}
