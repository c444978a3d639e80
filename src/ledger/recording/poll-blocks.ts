import type { BlockHead } from '../../leads/listed-lead.ts';

/** The numbers of a block's leads: in 4 bytes each, unless one of them is too large for that. */
type LeadNumbers = Uint32Array | Float64Array;

const MAX_UINT32 = 2 ** 32 - 1;

/** The blocks of the last complete listing. */
export interface BlockMemory {
  /** The numbers of a block's leads, by the block's hash. */
  readonly leads: ReadonlyMap<string, LeadNumbers>;
  /** Whether these blocks contain every lead of the listing. */
  readonly hasEveryLead: boolean;
}

/**
 * The blocks of a listing that a poll is recording. If a block of the last complete listing occurs again, its leads still have their known
 * content, so nothing has to be written: only polls change leads, and a block with a lead that this poll has changed (see `#changed`) does not
 * count as known. An erasure, even by another process, keeps the lead's id and hash, so the block stays valid. If an erased lead is listed
 * with new content, its block has another hash, and `Recording` examines the lead individually and ignores the content.
 */
export class PollBlocks {
  #last: BlockMemory | undefined;
  readonly #leads = new Map<string, LeadNumbers>();
  /** Leads whose content changed in this poll. The blocks of the last listing contain their older content. */
  readonly #changed = new Set<number>();
  #hasEveryLead = true;
  /** Whether every block so far was in the last listing as well. */
  #isSame = true;
  /** The block that is being recorded. */
  #open: { readonly hash: string | undefined; readonly size: number; readonly leads: number[] } | undefined;

  constructor(last: BlockMemory | undefined) {
    this.#last = last;
  }

  /** The blocks of the last complete listing. */
  get last(): BlockMemory | undefined {
    return this.#last;
  }

  /**
   * Forgets the last listing. Must be called before a lead of that listing is marked as gone, because its blocks then no longer show which
   * leads count as listed.
   */
  forgetLast(): void {
    this.#last = undefined;
  }

  /**
   * Begins a block. Returns the numbers of its leads if the last listing contained this block. If it returns undefined, the caller examines
   * each element.
   */
  begin(block: BlockHead): LeadNumbers | undefined {
    this.#close();
    const { hash, size } = block;
    const known = this.#known(block);
    if (hash !== undefined && known) this.#leads.set(hash, known);
    else {
      this.#isSame = false;
      this.#open = { hash, size, leads: [] };
    }
    return known;
  }

  /** Whether `begin` would return the numbers of the block's leads. */
  isKnown(block: BlockHead): boolean {
    return this.#known(block) !== undefined;
  }

  #known({ hash }: BlockHead): LeadNumbers | undefined {
    const leads = hash === undefined ? undefined : this.#last?.leads.get(hash);
    return this.#changed.size > 0 && leads?.some((lead) => this.#changed.has(lead)) ? undefined : leads;
  }

  /** Records that a lead's content changed. From then on, no block of the last listing that contains this lead counts as known. */
  changed(lead: number): void {
    this.#changed.add(lead);
  }

  /** Adds a lead to the current block. The known content of the lead is now the content that the block lists. */
  seen(lead: number): void {
    if (this.#open) this.#open.leads.push(lead);
    else this.#hasEveryLead = false;
  }

  /** Discards the current block after a failed transaction, because its leads may be incomplete. */
  discardOpenBlock(): void {
    this.#open = undefined;
    this.#hasEveryLead = false;
  }

  /** Ends the listing. Returns its blocks, and whether the listing is the same as the last complete listing. */
  end(): { readonly memory: BlockMemory; readonly isSame: boolean } {
    this.#close();
    const last = this.#last;
    const isSame =
      this.#isSame &&
      last?.hasEveryLead === true &&
      this.#leads.size > 0 &&
      this.#leads.size === last.leads.size;
    return { memory: { leads: this.#leads, hasEveryLead: this.#hasEveryLead }, isSame };
  }

  /**
   * Keeps the current block for the next poll if every element of the block was recorded as the content of a lead and none was rejected.
   */
  #close(): void {
    const block = this.#open;
    this.#open = undefined;
    if (!block) return;
    if (block.hash !== undefined && block.leads.length === block.size)
      this.#leads.set(block.hash, numbersOf(block.leads));
    else this.#hasEveryLead = false;
  }
}

function numbersOf(leads: readonly number[]): LeadNumbers {
  return leads.some((lead) => lead > MAX_UINT32) ? Float64Array.from(leads) : Uint32Array.from(leads);
}
