import { createHash, type Hash } from 'node:crypto';

const DIGITS = 32;

/**
 * Hashes a block while its bytes arrive. It ends with an element, and what has come behind that is not told from it before the
 * next element ends: so the state at the last end is kept.
 */
export class BlockHash {
  /** Undefined: the beginning of the block was hashed with the one before. */
  #hash: Hash | undefined = createHash('sha256');
  #atEnd: Hash | undefined;
  #bytes = 0;
  #bytesAtEnd = 0;

  /** @param end of the last element that is known by these bytes to have ended: 0 where they begin; undefined: none is */
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

  /** Nothing has come behind the end of the last element. */
  get isClean(): boolean {
    return this.#bytesAtEnd === this.#bytes;
  }

  /** What came up to the end of the last element; undefined when it cannot be told. Begins the next block. */
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

/** The same for a block of which all bytes are there. */
export function hashOfBlock(parts: readonly Buffer[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex').slice(0, DIGITS);
}
