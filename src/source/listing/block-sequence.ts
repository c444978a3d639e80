/** A block as it is recognised: its hash and its length in bytes; and how many elements it has. */
export interface BlockShape {
  readonly hash: string;
  readonly bytes: number;
  readonly size: number;
}

/** What followed each block of a listing, by the hash of that block; under an empty one what came first. */
export type BlockSequence = ReadonlyMap<string, BlockShape>;

/** Follows a listing block by block: says what came next in the last one, and learns what comes in this one. */
export class SequenceReader {
  readonly #last: BlockSequence;
  readonly #learned = new Map<string, BlockShape>();
  /** Undefined: after a block that cannot be recognised. */
  #before: string | undefined = '';

  constructor(last: BlockSequence) {
    this.#last = last;
  }

  get next(): BlockShape | undefined {
    return this.#before === undefined ? undefined : this.#last.get(this.#before);
  }

  /** @param block undefined: one that cannot be recognised */
  pass(block: BlockShape | undefined): void {
    if (this.#before !== undefined && block) this.#learned.set(this.#before, block);
    this.#before = block?.hash;
  }

  get learned(): BlockSequence {
    return this.#learned;
  }
}
