import { createHash } from 'node:crypto';
import { StringDecoder } from 'node:string_decoder';
import { EndCheck } from './check-element-end.ts';

/** One top-level element of a JSON array, not parsed yet. */
export type Element = WholeElement | OversizeElement;

/** An element that fits within the size limit. */
export interface WholeElement {
  readonly kind: 'whole';
  /** The element without surrounding white space. */
  readonly bytes: Buffer;
  /** Maximum depth of nested brackets: 1 for `{}`, 0 for `7`. */
  readonly nesting: number;
}

/** An element above the size limit, of which only the beginning is kept. */
export interface OversizeElement {
  readonly kind: 'oversize';
  /** At most the first 64 KiB. */
  readonly head: string;
  /** Size of the whole element in bytes. */
  readonly size: number;
  /** SHA-256 over all of its bytes, hex. */
  readonly sha256: string;
  /** Whether the element certainly ends where its brackets balance; see `EndCheck`. */
  readonly hasKnownEnd: boolean;
}

const HEAD_BYTES = 64 * 1024;
const FIRST_BYTES = 4096;
const NOTHING = Buffer.alloc(0);

/**
 * Assembles elements one after another from their parts. Buffers at most `maxBytes` of an element, and only the beginning of a larger one.
 */
export class ElementBytes {
  readonly #maxBytes: number;
  #held = NOTHING;
  #size = 0;
  #passing: SkippedElement | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Adds a copy of a part that does not end the element. */
  add(part: Buffer): void {
    const before = this.#size;
    this.#size += part.length;
    if (this.#passing !== undefined) this.#passing.add(part);
    else if (this.#size <= this.#maxBytes) this.#hold(part, before);
    else {
      this.#passing = new SkippedElement();
      this.#passing.add(this.#held.subarray(0, before));
      this.#passing.add(part);
      this.#held = NOTHING;
    }
  }

  /** Returns the element that ends with this part, and starts the next element. */
  finish(last: Buffer, nesting: number): Element {
    if (this.#size === 0 && last.length <= this.#maxBytes) return { kind: 'whole', bytes: last, nesting };
    this.add(last);
    const [size, passing, held] = [this.#size, this.#passing, this.#held];
    this.#size = 0;
    this.#passing = undefined;
    this.#held = NOTHING;
    return passing?.finish() ?? { kind: 'whole', bytes: held.subarray(0, size), nesting };
  }

  #hold(part: Buffer, before: number): void {
    if (this.#held.length < this.#size) {
      const larger = Buffer.allocUnsafe(Math.min(this.#maxBytes, Math.max(FIRST_BYTES, this.#size * 2)));
      this.#held.copy(larger, 0, 0, before);
      this.#held = larger;
    }
    part.copy(this.#held, before);
  }
}

/** Collects the beginning, the size and the hash of an element that is too large, and checks its end. */
class SkippedElement {
  readonly #hash = createHash('sha256');
  readonly #end = new EndCheck();
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #size = 0;

  add(part: Buffer): void {
    if (this.#size < HEAD_BYTES) part.copy(this.#head, this.#size);
    this.#hash.update(part);
    this.#end.add(part);
    this.#size += part.length;
  }

  finish(): OversizeElement {
    const head = this.#head.subarray(0, Math.min(this.#size, HEAD_BYTES));
    // The decoder omits a character that is cut in two.
    const text = new StringDecoder('utf8').write(head);
    const sha256 = this.#hash.digest('hex');
    return { kind: 'oversize', head: text, size: this.#size, sha256, hasKnownEnd: this.#end.isKnown };
  }
}
