const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const SPACES: ReadonlySet<number | undefined> = new Set([0x20, 0x0a, 0x0d, 0x09]);
/** The characters of a value that is not a string, an object or an array. */
const BARE = /^[-+.\w]*$/;
/** Maximum number of open brackets to remember. An element that is nested more deeply has no known end. */
const MAX_OPEN = 1_000_000;

/** Whether this element certainly ends where its brackets balance; see `EndCheck`. */
export function hasKnownEnd(element: Buffer): boolean {
  const check = new EndCheck();
  check.add(element);
  return check.isKnown;
}

/**
 * Checks whether an element that is not known to be valid JSON certainly ends where its brackets balance. A missing or stray quote or bracket moves
 * that end, and the element could then swallow the elements after it, which would be lost silently. Three signs show such a fault: brackets that do
 * not match, an object in place of a key, and a string that ends like the beginning of an object, because its closing quote is then probably the
 * first quote of that object's first key. A valid string can end like that too; treating its end as unknown is the safe choice. The element can
 * arrive in parts.
 */
export class EndCheck {
  #isKnown = true;
  /** Undefined before the first byte. */
  #isBare: boolean | undefined;
  readonly #open: number[] = [];
  /** The last byte outside strings that is not white space. */
  #before = 0;
  #inText = false;
  /** Whether the last part ended with the backslash of an escape. */
  #isEscaped = false;
  /** Whether the part of the current string that arrived in earlier parts ended with an opening brace, apart from white space. */
  #endedInBrace = false;

  /** Whether the bytes so far show none of the signs. A number or a word must consist of characters that such a value can contain. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  add(part: Buffer): void {
    const first = part[0];
    if (first === undefined || !this.#isKnown) return;
    this.#isBare ??= first !== OPEN_OBJECT && first !== OPEN_ARRAY && first !== QUOTE;
    if (this.#isBare) this.#isKnown = BARE.test(part.toString('latin1'));
    else
      for (let at = 0; at < part.length && this.#isKnown; )
        at = this.#inText ? this.#readText(part, at) : this.#readBetween(part, at);
  }

  /** Reads a string up to its closing quote. Returns the offset after it, or the length of the part. */
  #readText(part: Buffer, from: number): number {
    const unescaped = this.#isEscaped ? from + 1 : from;
    for (let at = unescaped; ; ) {
      // `indexOf` is much faster than a loop, and a long string has few quotes.
      const quote = part.indexOf(QUOTE, at);
      const end = quote === -1 ? part.length : quote;
      this.#isEscaped = isEscaped(part, unescaped, end);
      if (quote !== -1 && this.#isEscaped) {
        at = quote + 1;
        continue;
      }
      const endsInBrace = this.#endsInBrace(part, from, end);
      if (quote === -1) this.#endedInBrace = endsInBrace;
      else [this.#inText, this.#isKnown] = [false, !endsInBrace];
      return Math.min(end + 1, part.length);
    }
  }

  /** Whether the current string, up to this offset, ends with an opening brace, apart from white space. */
  #endsInBrace(part: Buffer, from: number, to: number): boolean {
    let at = to - 1;
    while (at >= from && SPACES.has(part[at])) at--;
    return at < from ? this.#endedInBrace : part[at] === OPEN_OBJECT;
  }

  /** Reads bytes outside strings up to the next quote or sign. Returns the offset after it, or the length of the part. */
  #readBetween(part: Buffer, from: number): number {
    for (let at = from; at < part.length; at++) {
      const byte = part[at] ?? 0;
      if (byte <= 0x20) continue;
      if (byte === QUOTE) {
        this.#inText = true;
        this.#endedInBrace = false;
      } else this.#isKnown = this.#hasPlace(byte);
      this.#before = byte;
      if (this.#inText || !this.#isKnown) return at + 1;
    }
    return part.length;
  }

  /** Returns false if a byte outside strings is one of the signs. Otherwise returns true, and records an opening or closing bracket. */
  #hasPlace(byte: number): boolean {
    const open = this.#open;
    if (byte === OPEN_OBJECT && this.#before === COMMA && open.at(-1) === OPEN_OBJECT) return false;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) return open.push(byte) <= MAX_OPEN;
    if (byte === CLOSE_OBJECT) return open.pop() === OPEN_OBJECT;
    return byte !== CLOSE_ARRAY || open.pop() === OPEN_ARRAY;
  }
}

/** Whether an odd number of backslashes precedes this offset. */
function isEscaped(part: Buffer, from: number, to: number): boolean {
  let at = to;
  while (at > from && part[at - 1] === BACKSLASH) at--;
  return (to - at) % 2 === 1;
}
