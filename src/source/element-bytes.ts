import { createHash, type Hash } from 'node:crypto';
import { StringDecoder } from 'node:string_decoder';

/** One top-level element of a JSON array, cut out and not yet looked into. */
export type Element = WholeElement | OversizeElement;

export interface WholeElement {
  readonly kind: 'whole';
  /** The element without the space around it. Valid only until the next element is asked for. */
  readonly bytes: Buffer;
  /** How deep brackets lie in brackets: 1 for `{}`, 0 for `7`. */
  readonly nesting: number;
}

/** An element larger than allowed: passed over without being held. */
export interface OversizeElement {
  readonly kind: 'oversize';
  /** Its beginning, at most 64 KiB. */
  readonly head: string;
  readonly size: number;
  /** SHA-256 over all of its bytes, hex. */
  readonly sha256: string;
}

const HEAD_BYTES = 64 * 1024;
/** A buffer that grew beyond this for one large element is given back after it. */
const KEPT_BYTES = 1024 * 1024;

/** Collects the parts of one element after another, and holds no more of any than `maxBytes`. */
export class ElementBytes {
  readonly #maxBytes: number;
  #held = Buffer.alloc(0);
  #size = 0;
  #passing: { readonly hash: Hash; readonly head: string } | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Adds a part of an element that goes on beyond it; copies it. */
  add(part: Buffer): void {
    const before = this.#size;
    this.#size += part.length;
    if (this.#passing !== undefined) this.#passing.hash.update(part);
    else if (this.#size > this.#maxBytes) this.#passOver(part, before);
    else this.#hold(part, before);
  }

  /** Gives the element that ends with this part, and starts the next one. */
  finish(last: Buffer, nesting: number): Element {
    if (this.#size === 0 && last.length <= this.#maxBytes) return { kind: 'whole', bytes: last, nesting };
    this.add(last);
    const [size, passing, held] = [this.#size, this.#passing, this.#held];
    this.#size = 0;
    this.#passing = undefined;
    if (held.length > KEPT_BYTES) this.#held = Buffer.alloc(0);
    if (passing === undefined) return { kind: 'whole', bytes: held.subarray(0, size), nesting };
    return { kind: 'oversize', head: passing.head, size, sha256: passing.hash.digest('hex') };
  }

  #hold(part: Buffer, before: number): void {
    if (this.#held.length < this.#size) {
      const larger = Buffer.allocUnsafe(Math.min(this.#maxBytes, Math.max(4096, this.#size * 2)));
      this.#held.copy(larger, 0, 0, before);
      this.#held = larger;
    }
    part.copy(this.#held, before);
  }

  #passOver(part: Buffer, before: number): void {
    const held = this.#held.subarray(0, before);
    const head = Buffer.concat([held.subarray(0, HEAD_BYTES), part.subarray(0, HEAD_BYTES)]);
    // The decoder leaves out a character that the cut goes through.
    const text = new StringDecoder('utf8').write(head.subarray(0, HEAD_BYTES));
    this.#passing = { hash: createHash('sha256').update(held).update(part), head: text };
    this.#held = Buffer.alloc(0);
  }
}
