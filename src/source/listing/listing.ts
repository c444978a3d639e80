import type { ListedBlock } from '../../leads/listed-lead.ts';
import type { ListingMarker } from '../../leads/listing-marker.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { TokenProvider } from '../auth/token-provider.ts';
import type { SourceOptions } from '../contract/options.ts';
import { type Listing, SourceError } from '../contract/source.ts';
import { type PauseParts, withPauses } from '../http/pause-detection.ts';
import { ReadDeadline } from '../http/read-deadline.ts';
import { dropBody, type ServiceAnswer, type ServiceConnection } from '../http/service-call.ts';
import { type BlockSequence, SequenceReader } from './block-sequence.ts';
import { Blocks } from './blocks.ts';
import { nextLink } from './link-header.ts';
import { ListingBody } from './listing-body.ts';
import { ListingRequests } from './listing-request.ts';

/** Maximum time that a lead waits for its block to fill, in ms. The rest of the listing may arrive slowly. */
const BLOCK_WAIT_MS = 500;

/**
 * Interval between unconditional requests (without `If-None-Match`), in ms. Otherwise, a service or cache whose ETag stays the same while the
 * listing changes would hide new leads for ever.
 */
const WHOLE_EVERY_MS = 3_600_000;

/** Dependencies that all readings of one source share. */
export interface ListingParts {
  readonly options: SourceOptions;
  readonly connection: ServiceConnection;
  readonly tokens: TokenProvider;
  readonly clock: Clock;
  /** The last listing that was read to its end; in memory only. */
  readonly last: { blocks: BlockSequence };
}

/** Requests the listing, and detects whether it is unchanged. @throws SourceError */
export async function readListing(
  parts: ListingParts,
  previous: ListingMarker | undefined,
  signal: AbortSignal,
): Promise<Listing> {
  const time = new ReadDeadline(parts.options.deadline, signal, parts.clock);
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
  readonly #time: ReadDeadline;
  readonly #requests: ListingRequests;
  readonly #sequence: SequenceReader;
  #bytes = 0;
  #position = 0;
  #mark: ListingMarker | undefined;

  constructor(parts: ListingParts, time: ReadDeadline) {
    this.#parts = parts;
    this.#time = time;
    this.#requests = new ListingRequests(parts.connection, parts.tokens);
    this.#sequence = new SequenceReader(parts.last.blocks);
  }

  async start(previous: ListingMarker | undefined): Promise<Listing> {
    const url = this.#firstUrl();
    const { signal } = this.#time;
    const last = this.#parts.options.pagination === 'none' && previous?.url === url ? previous : undefined;
    const response = await this.#requests.ask(url, this.#isBelieved(last) ? last.etag : undefined, signal);
    const etag = response.headers.get('etag') ?? undefined;
    if (response.status === 304)
      return { kind: 'unchanged', httpStatus: 304, bytes: 0, mark: last && renewed(last, etag ?? last.etag) };
    return {
      kind: 'changed',
      httpStatus: response.status,
      blocks: this.#blocks(url, response),
      end: () => ({ bytes: this.#bytes, mark: this.#mark }),
    };
  }

  /**
   * Whether the marker is recent enough to trust its ETag, and the listing was read with the current size limit. Uses the absolute difference of the
   * times, because the clock may have been set back.
   */
  #isBelieved(last: ListingMarker | undefined): last is ListingMarker {
    const { clock, options } = this.#parts;
    const agoMs = clock.now().getTime() - (last?.readAt ?? Number.NEGATIVE_INFINITY);
    return Math.abs(agoMs) < WHOLE_EVERY_MS && last?.maxLeadSize === options.max_lead_size;
  }

  async *#blocks(url: string, response: ServiceAnswer): AsyncGenerator<ListedBlock, void, void> {
    const { options, last } = this.#parts;
    try {
      if (options.pagination === 'none') {
        yield* this.#readPage(new ListingBody(response, this.#time.signal, { hashed: false }));
        const etag = response.headers.get('etag') ?? undefined;
        const readAt = this.#parts.clock.now().getTime();
        const maxLeadSize = options.max_lead_size;
        this.#mark = etag === undefined ? { url, etag } : { url, etag, readAt, maxLeadSize };
      } else yield* this.#readPages(url, response);
      last.blocks = this.#sequence.learned;
    } finally {
      this.#time.end();
      dropBody(response); // if the reader stops early, this closes the connection
    }
  }

  /** Reads all pages. Throws at a repeated page, which would make the reading endless. */
  async *#readPages(firstUrl: string, firstResponse: ServiceAnswer) {
    const seen = new Map([[firstUrl, 1]]);
    let [url, response] = [firstUrl, firstResponse];
    for (let page = 1; ; page++) {
      const before = this.#position;
      const body = new ListingBody(response, this.#time.signal, { hashed: true });
      try {
        yield* this.#readPage(body);
      } finally {
        dropBody(response);
      }
      const isEmpty = this.#position === before;
      const next = this.#nextUrl(url, response, page, isEmpty);
      if (next === undefined) return;
      if (!isEmpty) refuseRepeated(seen, body.sha256, page);
      refuseRepeated(seen, next, page);
      url = next;
      response = await this.#requests.ask(url, undefined, this.#time.signal);
    }
  }

  async *#readPage(body: ListingBody): AsyncGenerator<ListedBlock, void, void> {
    const before = this.#bytes;
    const { clock, options } = this.#parts;
    const blocks = new Blocks(this.#sequence, options.max_lead_size, this.#position);
    let sinceMs = clock.monotonicMs();
    try {
      for await (const part of withPauses(body.read(), this.#pauses())) {
        this.#bytes = before + body.bytes;
        for (const block of part === undefined ? blocks.flush() : blocks.push(part)) {
          yield block;
          sinceMs = clock.monotonicMs();
        }
        if (!blocks.isWaiting || clock.monotonicMs() - sinceMs <= BLOCK_WAIT_MS) continue;
        yield* blocks.flush();
        sinceMs = clock.monotonicMs();
      }
      yield* blocks.end();
    } catch (error) {
      // Leads before the fault are valid. Without this, the leads of a listing that always breaks off would never be delivered.
      if (!this.#time.signal.aborted) yield* blocks.flush();
      throw error;
    } finally {
      this.#position = blocks.position;
    }
  }

  #pauses(): PauseParts {
    return { clock: this.#parts.clock, pauseMs: BLOCK_WAIT_MS, cut: () => this.#time.stop() };
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

  #nextUrl(url: string, response: ServiceAnswer, page: number, isEmpty: boolean): string | undefined {
    if (this.#parts.options.pagination === 'page') return isEmpty ? undefined : this.#pageUrl(url, page + 1);
    const link = nextLink(response.headers.get('link'));
    if (link === undefined) return undefined;
    const next = URL.parse(link, url);
    // Follows only links to the same server, because the request sends the token there.
    if (next !== null && next.origin === new URL(url).origin) return next.href;
    throw new SourceError('protocol', `Page ${page} of the listing links to a next page on another server.`, {
      hint: 'leadsync does not send the token there. If both servers belong to the service, correct base_url, or ask its operator.',
    });
  }
}

/**
 * Returns the marker with the new ETag; undefined if the ETag has not changed. A request with an outdated ETag would get the whole body every time.
 */
function renewed(last: ListingMarker, etag: string | undefined): ListingMarker | undefined {
  return etag === last.etag ? undefined : { ...last, etag };
}

function refuseRepeated(seen: Map<string, number>, what: string, page: number): void {
  const first = seen.get(what);
  if (first === undefined) return void seen.set(what, page);
  throw new SourceError(
    'protocol',
    `Page ${page} of the listing repeats page ${first}, so the listing would never end.`,
    {
      hint: 'If the service does not paginate its listing, set pagination: none; otherwise check which pagination it uses.',
    },
  );
}
