import { createHash, type Hash } from 'node:crypto';

const DIGITS = 32;

/**
 * Hashes a block while its bytes arrive. A block ends where one of its elements ends. Whether the bytes after the last complete element
 * belong to the block is known only when the next element ends, so this class keeps the hash state at the end of the last complete
 * element.
 */
export class BlockHash {
  /** Undefined if the beginning of this block was hashed with the previous block. */
  #hash: Hash | undefined = createHash('sha256');
  #atEnd: Hash | undefined;
  #bytes = 0;
  #bytesAtEnd = 0;

  /**
   * Adds bytes. @param end offset in `bytes` after the newest element that was completed since the previous call; 0 if that element ended
   * with the previous bytes and only these bytes show it; undefined if no element was completed
   */
  add(bytes: Buffer, end: number | undefined): void {
    if (end !== undefined) {
      this.#hash?.update(bytes.subarray(0, end));
      this.#bytesAtEnd = this.#bytes + end;
      this.#atEnd = undefined;
    }
    this.#bytes += bytes.length;
    if (end === bytes.length) return;
    this.#atEnd ??= this.#hash?.copy();
    this.#hash?.update(bytes.subarray(end ?? 0));
  }

  /** Whether no bytes have arrived after the last element. */
  get isClean(): boolean {
    return this.#bytesAtEnd === this.#bytes;
  }

  /** Returns the hash up to the end of the last element, or undefined if it is unknown. Starts the next block. */
  finish(): { readonly hash: string; readonly bytes: number } | undefined {
    const digest = (this.#atEnd ?? this.#hash)?.digest('hex').slice(0, DIGITS);
    const bytes = this.#bytesAtEnd;
    this.#hash = this.isClean ? createHash('sha256') : undefined;
    this.#atEnd = undefined;
    this.#bytes = 0;
    this.#bytesAtEnd = 0;
    return digest === undefined ? undefined : { hash: digest, bytes };
  }
}

/** Returns the hash of a complete block. */
export function hashOfBlock(parts: readonly Buffer[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex').slice(0, DIGITS);
}
