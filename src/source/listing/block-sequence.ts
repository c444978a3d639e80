/** The values by which a block is recognised: its hash and its length in bytes. `size` is its number of elements. */
export interface BlockShape {
  readonly hash: string;
  readonly bytes: number;
  readonly size: number;
}

/** Maps the hash of each block of a listing to the block that followed it, and the empty string to the first block. */
export type BlockSequence = ReadonlyMap<string, BlockShape>;

/** Follows a listing block by block: predicts each block from the last listing, and records the sequence of the current listing. */
export class SequenceReader {
  readonly #last: BlockSequence;
  readonly #learned = new Map<string, BlockShape>();
  /** Hash of the previous block; empty before the first block, and undefined if the previous block cannot be recognised. */
  #before: string | undefined = '';

  constructor(last: BlockSequence) {
    this.#last = last;
  }

  /** The block that came next in the last listing; undefined if unknown. */
  get next(): BlockShape | undefined {
    return this.#before === undefined ? undefined : this.#last.get(this.#before);
  }

  /** Records the next block. @param block undefined if it cannot be recognised */
  pass(block: BlockShape | undefined): void {
    if (this.#before !== undefined && block) this.#learned.set(this.#before, block);
    this.#before = block?.hash;
  }

  /** The sequence of this listing so far. */
  get learned(): BlockSequence {
    return this.#learned;
  }
}
