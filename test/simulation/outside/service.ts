import { createHash } from 'node:crypto';
import type { ListedBlock, ListedItem, RejectedLead } from '../../../src/leads/listed-lead.ts';
import type { ListingMarker } from '../../../src/leads/listing-marker.ts';
import type { Clock } from '../../../src/platform/time/clock.ts';
import { type Listing, type Source, SourceError } from '../../../src/source/contract/source.ts';
import { aListedLead, blockOf } from '../../support/scene/a-lead.ts';
import type { Chance } from '../chance.ts';
import type { Life } from '../life.ts';

/** How the service answers. */
export type ServiceManner =
  | 'fine'
  /** Cannot be reached. */
  | 'down'
  | 'server-error'
  /** Answers 429 and asks for a wait of 40 s. */
  | 'limited'
  /** Breaks off after a part of the listing. */
  | 'cut'
  /** Pauses for some seconds between the parts. */
  | 'slow'
  /** Returns an empty listing. */
  | 'empty';

/** A lead of the service. */
interface ServiceLead {
  readonly id: number;
  content: number;
  listed: boolean;
  broken: boolean;
  /** Another content under the same id, before or after the other leads. */
  other: { readonly content: number; readonly isFirst: boolean } | undefined;
}

/**
 * What the service showed in one complete listing: the content's hash, by lead. A lead with several contents is left out, because the one
 * that counts depends on what the ledger knew.
 */
export type Shown = ReadonlyMap<bigint, string>;

const NOBODY = new AbortController().signal;
const OLD = '2026-11-18T10:00:00.000Z';

/** The lead listing service: its leads arrive, change and disappear as the scenario says. */
export class SimulatedService {
  readonly #clock: Clock;
  readonly #chance: Chance;
  readonly #leads: ServiceLead[] = [];
  readonly #hashes = new Map<string, ListedItem>();
  readonly #longestBlock: number;
  #order: ServiceLead[] = [];
  #repeated = 0;
  manner: ServiceManner = 'fine';

  constructor(clock: Clock, chance: Chance, leads: number) {
    this.#clock = clock;
    this.#chance = chance;
    this.#longestBlock = chance.between(2, 9);
    this.add(leads);
  }

  get leads(): number {
    return this.#leads.length;
  }

  add(count: number): void {
    for (let added = 0; added < count; added += 1) {
      const lead = { id: this.#leads.length + 1, content: 1, listed: true, broken: false, other: undefined };
      this.#leads.push(lead);
      // The service promises no order.
      this.#order.splice(this.#chance.below(this.#order.length + 1), 0, lead);
    }
  }

  change(count: number): void {
    for (const lead of this.#some(count)) this.#changeOne(lead);
  }

  /** Changes a lead; does nothing if it does not exist. */
  changeOne(id: number): void {
    for (const lead of this.#leads) if (lead.id === id) this.#changeOne(lead);
  }

  unlist(count: number): void {
    for (const lead of this.#some(count)) lead.listed = false;
  }

  relist(): void {
    for (const lead of this.#leads) lead.listed = true;
  }

  shuffle(): void {
    this.#order = this.#chance.shuffled(this.#order);
  }

  /** Makes some leads break the description. */
  break(count: number): void {
    for (const lead of this.#some(count)) lead.broken = true;
  }

  mend(): void {
    for (const lead of this.#leads) lead.broken = false;
  }

  /** Lists some leads twice, each time with another content. */
  contradict(count: number): void {
    for (const lead of this.#some(count))
      lead.other = { content: lead.content + 1, isFirst: this.#chance.oneIn(2) };
  }

  /** Lists every lead with one content again. */
  agree(): void {
    for (const lead of this.#leads) lead.other = undefined;
  }

  /** Lists this many leads twice. */
  repeat(count: number): void {
    this.#repeated = count;
  }

  /** Returns what a complete listing shows now. */
  shown(): Shown {
    return shownBy(this.#items());
  }

  /** Returns the service as one process sees it. Calls `onListing` with what each listing shows. */
  sourceOf(life: Life, onListing: (shown: Shown) => void): Source {
    return {
      name: 'main',
      origin: 'simulated',
      list: (previous) => life.act(() => this.#list(previous, life, onListing)),
      tokenExpiresAt: () => undefined,
      lastLoginAt: async () => undefined,
      close: async () => undefined,
    };
  }

  async #list(
    previous: ListingMarker | undefined,
    life: Life,
    onListing: (shown: Shown) => void,
  ): Promise<Listing> {
    await this.#clock.sleep(this.#chance.between(5, 300), NOBODY);
    const failure = this.#failure();
    if (failure) throw failure;
    const manner = this.manner;
    const items = manner === 'empty' ? [] : this.#items();
    const mark = {
      url: 'https://leads.test',
      // The marker depends on what is shown, so that it returns when the listing does.
      etag: `"${createHash('sha256')
        .update(items.map(({ hash }) => hash).join())
        .digest('hex')
        .slice(0, 16)}"`,
    };
    if (manner !== 'cut' && previous?.etag === mark.etag)
      return { kind: 'unchanged', httpStatus: 304, bytes: 0 };
    onListing(shownBy(items));
    const blocks = this.#blocks(items, manner, life);
    return { kind: 'changed', httpStatus: 200, blocks, end: () => ({ bytes: items.length, mark }) };
  }

  #failure(): SourceError | undefined {
    const more = { hint: 'Wait.', retryAfterMs: this.manner === 'limited' ? 40_000 : undefined };
    if (this.manner === 'down') return new SourceError('unreachable', 'It is not there.', more);
    if (this.manner === 'server-error') return new SourceError('server', 'It is broken.', more);
    if (this.manner === 'limited') return new SourceError('rate-limited', 'Not so fast.', more);
    return undefined;
  }

  /** Yields blocks. Their ends, and which of them have a hash, depend on their content, so that the next listing has most of them too. */
  async *#blocks(
    items: readonly ListedItem[],
    manner: ServiceManner,
    life: Life,
  ): AsyncGenerator<ListedBlock> {
    const end = manner === 'cut' ? this.#chance.below(items.length + 1) : items.length;
    let block: ListedItem[] = [];
    for (const [position, item] of items.slice(0, end).entries()) {
      block.push(item);
      const isEnd = position === end - 1 || block.length >= this.#longestBlock || /^.[0-3]/.test(item.hash);
      if (!isEnd) continue;
      const pauseMs = manner === 'slow' ? 3_000 : this.#chance.below(5);
      await life.act(() => this.#clock.sleep(pauseMs, NOBODY));
      const isTold = !item.hash.endsWith('0');
      yield blockOf(block, isTold ? block.map(({ hash }) => hash).join() : undefined);
      block = [];
    }
    if (manner === 'cut') throw new SourceError('incomplete', 'It broke off.', { hint: 'Wait.' });
  }

  #items(): ListedItem[] {
    const listed = this.#order.filter((lead) => lead.listed);
    const others = (isFirst: boolean) =>
      listed.flatMap(({ other, ...lead }) =>
        other?.isFirst === isFirst ? [{ ...lead, content: other.content }] : [],
      );
    const all = [...others(true), ...listed, ...listed.slice(0, this.#repeated), ...others(false)];
    return all.map((lead, position) => ({ ...this.#item(lead), position }));
  }

  #item({ id, content, broken }: Pick<ServiceLead, 'id' | 'content' | 'broken'>): ListedItem {
    const key = `${id} ${content} ${broken}`;
    const known = this.#hashes.get(key);
    if (known) return known;
    const lead = aListedLead({ id, client_name: `content ${content}`, created_at: OLD });
    const rejected: RejectedLead = {
      ...lead,
      kind: 'rejected',
      hash: `broken ${lead.hash}`,
      reason: 'is missing',
      path: 'client_email',
    };
    const item = broken ? rejected : lead;
    this.#hashes.set(key, item);
    return item;
  }

  /** Changes a lead, sometimes back to a content that it had before. */
  #changeOne(lead: ServiceLead): void {
    const isBack = lead.content > 1 && this.#chance.oneIn(3);
    lead.content += isBack ? -1 : 1;
  }

  #some(count: number): ServiceLead[] {
    return this.#chance.some(
      this.#leads.filter((lead) => lead.listed),
      count,
    );
  }
}

function shownBy(items: readonly ListedItem[]): Shown {
  const shown = new Map<bigint, string>();
  const contested = new Set<bigint>();
  for (const item of items) {
    if (item.kind !== 'lead') continue;
    if ((shown.get(item.id) ?? item.hash) !== item.hash) contested.add(item.id);
    shown.set(item.id, item.hash);
  }
  for (const id of contested) shown.delete(id);
  return shown;
}
