import { SourceError } from '../contract/source.ts';
import { type Element, ElementBytes } from './element-bytes.ts';

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const SPACES: ReadonlySet<number | undefined> = new Set([0x20, 0x0a, 0x0d, 0x09]);
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** The position of the next byte relative to the array and its elements. */
type Place =
  | 'before-array'
  | 'after-open' // an element, or the end of an empty array
  | 'in-element'
  | 'after-element' // a comma, or the end
  | 'after-comma' // an element
  | 'after-array';

/** The kind of the current element, which decides how its end is found. */
type Form = 'brackets' | 'text' | 'bare';

/**
 * Splits a JSON array that arrives in chunks into its top-level elements, in memory bounded by the maximum element size. It checks
 * the bytes between the elements; the JSON parser checks each element. Together they accept exactly the JSON arrays in UTF-8
 * (RFC 8259), with or without a byte-order mark.
 */
export class Splitter {
  readonly #element: ElementBytes;
  /** An element that has ended. The next byte that is not white space may still show that the element is damaged. */
  #unconfirmed: Element | undefined;
  #place: Place = 'before-array';
  #form: Form = 'brackets';
  #bytesRead = 0;
  #at = 0;
  /** Number of bytes of a byte-order mark read so far. */
  #markRead = 0;
  #elements = 0;
  #depth = 0;
  #nesting = 0;
  #inText = false;
  #escaped = false;

  constructor(maxElementBytes: number) {
    this.#element = new ElementBytes(maxElementBytes);
  }

  /**
   * Yields each element as soon as a comma or the end of the array follows it: until then it may be damaged, with brackets that
   * balance too early. The caller must not modify the chunk, and must take all of its elements or call `leave`.
   * @throws SourceError `protocol` at the first byte that cannot belong to a JSON array
   */
  *push(chunk: Buffer): Generator<Element, void, void> {
    this.#at = 0;
    yield* this.#confirm(chunk, 0);
    while (this.#at < chunk.length) {
      const at = this.#at;
      if (this.#place !== 'in-element') {
        this.#at = this.#readBetween(chunk, at);
        continue;
      }
      const end = this.#findEnd(chunk, at);
      this.#at = end ?? chunk.length;
      if (end === undefined) this.#element.add(chunk.subarray(at));
      else {
        this.#place = 'after-element';
        this.#elements++;
        this.#unconfirmed = this.#element.finish(chunk.subarray(at, end), this.#nesting);
        yield* this.#confirm(chunk, end);
      }
    }
    this.#bytesRead += chunk.length;
  }

  /** Whether an element has ended and nothing but white space has followed it. */
  get isWaiting(): boolean {
    return this.#unconfirmed !== undefined;
  }

  /** Yields the element that has ended and that nothing but white space has followed, if there is one. */
  *rest(): Generator<Element, void, void> {
    const element = this.#unconfirmed;
    this.#unconfirmed = undefined;
    if (element) yield element;
  }

  /** Offset in the last chunk at which the last yielded element ends; 0 if it ended in an earlier chunk. */
  get at(): number {
    return this.#at;
  }

  /** Stops reading the last chunk after the last yielded element. The caller processes the rest of the chunk itself. */
  leave(): void {
    this.#bytesRead += this.#at;
  }

  /** Skips bytes that are known to consist of this number of whole elements and to end where the last of these elements ends. */
  skip(bytes: number, elements: number): void {
    this.#bytesRead += bytes;
    this.#elements += elements;
    this.#place = 'after-element';
  }

  /** Checks that the array has ended; call it when the body has ended. @throws SourceError `incomplete` if the array has not ended */
  end(): void {
    if (this.#place === 'after-array') return;
    const where = this.#bytesRead === 0 ? 'is empty' : `breaks off ${this.#whereabouts()}`;
    throw new SourceError('incomplete', `The listing ${where}.`, {
      hint: 'If this persists, check whether a proxy between leadsync and the service truncates answers.',
    });
  }

  /**
   * Yields the ended element if a comma or a closing bracket follows. Keeps the element if only white space follows, and drops it if any other byte
   * follows.
   */
  *#confirm(chunk: Buffer, from: number): Generator<Element, void, void> {
    const next = chunk[firstNoSpace(chunk, from)];
    if (next === COMMA || next === CLOSE_ARRAY) yield* this.rest();
    else if (next !== undefined) this.#unconfirmed = undefined;
  }

  /** Reads bytes between elements. Returns the offset of the next element, or the length of the chunk. */
  #readBetween(chunk: Buffer, from: number): number {
    for (let at = firstNoSpace(chunk, from); at < chunk.length; at = firstNoSpace(chunk, at + 1)) {
      const byte = chunk[at] ?? 0;
      if (this.#place === 'before-array') this.#open(byte, this.#bytesRead + at);
      else if (this.#place === 'after-array') throw this.#fault('continues after its end');
      else if (byte === CLOSE_ARRAY && this.#place !== 'after-comma') this.#place = 'after-array';
      else if (byte === COMMA && this.#place === 'after-element') this.#place = 'after-comma';
      else if (byte === COMMA || byte === CLOSE_ARRAY) throw this.#fault('has a comma without an element');
      else if (this.#place === 'after-element')
        throw this.#fault('has two elements without a comma between them');
      else {
        this.#start(byte);
        return at;
      }
    }
    return chunk.length;
  }

  #open(byte: number, offset: number): void {
    if (byte === OPEN_ARRAY) {
      const markIsWhole = this.#markRead === 0 || this.#markRead === BYTE_ORDER_MARK.length;
      if (!markIsWhole) throw this.#fault('does not begin with an array');
      this.#place = 'after-open';
    } else if (offset === this.#markRead && byte === BYTE_ORDER_MARK[offset]) this.#markRead++;
    else if (byte === OPEN_OBJECT) throw this.#fault('is an object, not an array');
    else throw this.#fault('is not a JSON array');
  }

  #start(byte: number): void {
    this.#place = 'in-element';
    this.#form = byte === OPEN_OBJECT || byte === OPEN_ARRAY ? 'brackets' : byte === QUOTE ? 'text' : 'bare';
    this.#depth = 0;
    this.#nesting = 0;
    this.#inText = false;
    this.#escaped = false;
  }

  /** Returns the offset after the element's last byte, or undefined if the chunk ends first. */
  #findEnd(chunk: Buffer, from: number): number | undefined {
    return this.#form === 'bare' ? findEndOfBare(chunk, from) : this.#findBalance(chunk, from);
  }

  /** Finds where brackets balance. Only quotes and backslashes matter in strings, and only quotes and brackets outside them. */
  #findBalance(chunk: Buffer, from: number): number | undefined {
    const length = chunk.length;
    let at = from;
    let depth = this.#depth;
    let inText = this.#inText;
    if (this.#escaped && at < length) {
      this.#escaped = false;
      at++;
    }
    while (at < length) {
      const byte = chunk[at++];
      if (inText) {
        if (byte === BACKSLASH) {
          if (at === length) this.#escaped = true;
          at++;
        } else if (byte === QUOTE) {
          inText = false;
          if (depth === 0) return at;
        }
      } else if (byte === QUOTE) inText = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        depth++;
        if (depth > this.#nesting) this.#nesting = depth;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        // The JSON parser refuses brackets that do not match.
        depth--;
        if (depth === 0) return at;
      }
    }
    this.#depth = depth;
    this.#inText = inText;
    return undefined;
  }

  #fault(what: string): SourceError {
    return new SourceError('protocol', `The listing ${what} (${this.#whereabouts()}).`, {
      hint: 'Check what the service answers at the address of the listing: it should be one JSON array of leads.',
    });
  }

  #whereabouts(): string {
    if (this.#place === 'in-element') return `inside element ${this.#elements + 1}`;
    return this.#elements === 0 ? 'before its first element' : `after element ${this.#elements}`;
  }
}

function firstNoSpace(chunk: Buffer, from: number): number {
  let at = from;
  while (SPACES.has(chunk[at])) at++;
  return at;
}

/** Returns the offset after a number or a word, which ends before a space, a comma or the end of the array. */
function findEndOfBare(chunk: Buffer, from: number): number | undefined {
  for (let at = from; at < chunk.length; at++) {
    const byte = chunk[at] ?? 0;
    if (byte <= 0x20 || byte === COMMA || byte === CLOSE_ARRAY) return at;
  }
  return undefined;
}
