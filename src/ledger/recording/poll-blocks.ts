import type { ListedBlock } from '../../leads/listed-lead.ts';

/** The leads of the blocks of a listing that was recorded to its end, by the block's hash; leads by their numbers. */
export interface BlockMemory {
  readonly leads: ReadonlyMap<string, Uint32Array>;
  /** No lead of the listing stood outside of them. */
  readonly hasEveryLead: boolean;
}

/**
 * The blocks of a listing while it is recorded. A block that the last complete listing had holds the very same leads, each
 * with the content that is known: only a poll changes a lead, and this one notes which it has changed. Erasing a lead keeps its id and hash,
 * so what is remembered of its block holds on: listed as before, it needs nothing written. With another content it stands in
 * a block that is not remembered, is met by itself, and kept out there (recording.ts). That holds beside another process too.
 */
export class PollBlocks {
  readonly last: BlockMemory | undefined;
  readonly #leads = new Map<string, Uint32Array>();
  /** Leads that have got another content in this poll: the last listing's blocks hold an older one of them. */
  readonly #changed = new Set<number>();
  #hasEveryLead = true;
  /** Everything that was listed so far stood in the last listing as well. */
  #isSame = true;
  /** The block that is being recorded. */
  #open: { readonly hash: string | undefined; readonly size: number; readonly leads: number[] } | undefined;

  constructor(last: BlockMemory | undefined) {
    this.last = last;
  }

  /** The leads of a block, by their numbers, when the last listing had it; else its leads are to be met one by one. */
  begin({ hash, size }: Omit<ListedBlock, 'elements'>): Uint32Array | undefined {
    this.#close();
    const known = hash === undefined ? undefined : this.#unchanged(this.last?.leads.get(hash));
    if (hash !== undefined && known) this.#leads.set(hash, known);
    else {
      this.#isSame = false;
      this.#open = { hash, size, leads: [] };
    }
    return known;
  }

  #unchanged(leads: Uint32Array | undefined): Uint32Array | undefined {
    return this.#changed.size > 0 && leads?.some((lead) => this.#changed.has(lead)) ? undefined : leads;
  }

  /** A lead has got another content, so no block of the last listing that holds it can be taken for known. */
  changed(lead: number): void {
    this.#changed.add(lead);
  }

  /** A lead was met that has from now on the content with which the block lists it. */
  seen(lead: number): void {
    if (this.#open) this.#open.leads.push(lead);
    else this.#hasEveryLead = false;
  }

  /** What was met of the block is not to be relied on. */
  discardOpenBlock(): void {
    this.#open = undefined;
    this.#hasEveryLead = false;
  }

  /** The listing has ended: what is to be remembered of it, and whether it lists what the last one did. */
  end(): { readonly memory: BlockMemory; readonly isSame: boolean } {
    this.#close();
    const { last } = this;
    const isSame =
      this.#isSame &&
      last?.hasEveryLead === true &&
      this.#leads.size > 0 &&
      this.#leads.size === last.leads.size;
    return { memory: { leads: this.#leads, hasEveryLead: this.#hasEveryLead }, isSame };
  }

  /** A block is remembered when each of its elements is a lead with that content: not where one was set aside. */
  #close(): void {
    const block = this.#open;
    this.#open = undefined;
    if (!block) return;
    if (block.hash !== undefined && block.leads.length === block.size)
      this.#leads.set(block.hash, Uint32Array.from(block.leads));
    else this.#hasEveryLead = false;
  }
}
