const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const SPACES: ReadonlySet<number> = new Set([0x20, 0x0a, 0x0d, 0x09]);
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
 * Checks whether an element that is not known to be valid JSON certainly ends where its brackets balance. A missing or stray quote or
 * bracket moves that end, and the element could then swallow the elements after it, which would be lost silently. Three signs show this:
 * brackets that do not match, an object in place of a key, and a string that ends like the beginning of an object: its closing quote is
 * then probably the first quote of that object's first key. A valid string can end like that too; treating its end as unknown is the safe
 * choice. The element can arrive in parts.
 */
export class EndCheck {
  #isKnown = true;
  /** Undefined before the first byte. */
  #isBare: boolean | undefined;
  readonly #open: number[] = [];
  /** The last byte outside strings that is not white space. */
  #before = 0;
  #inText = false;
  #escaped = false;
  /** Whether the current string, as far as it was read, ends with an opening brace and white space. */
  #endsInBrace = false;

  /** Whether the bytes so far show none of the signs. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  add(part: Buffer): void {
    const first = part[0];
    if (first === undefined || !this.#isKnown) return;
    this.#isBare ??= first !== OPEN_OBJECT && first !== OPEN_ARRAY && first !== QUOTE;
    if (this.#isBare) this.#isKnown = BARE.test(part.toString('latin1'));
    else this.#isKnown = part.every((byte) => (this.#inText ? this.#readInText(byte) : this.#read(byte)));
  }

  /** Returns false if the byte is one of the signs. */
  #readInText(byte: number): boolean {
    if (byte === QUOTE && !this.#escaped) {
      this.#inText = false;
      return !this.#endsInBrace;
    }
    this.#escaped = byte === BACKSLASH && !this.#escaped;
    if (!SPACES.has(byte)) this.#endsInBrace = byte === OPEN_OBJECT;
    return true;
  }

  /** Returns false if the byte, which is outside strings, is one of the signs. */
  #read(byte: number): boolean {
    const [open, before] = [this.#open, this.#before];
    if (byte > 0x20) this.#before = byte;
    switch (byte) {
      case QUOTE:
        this.#inText = true;
        this.#endsInBrace = false;
        return true;
      case OPEN_OBJECT:
      case OPEN_ARRAY: {
        const isInPlaceOfKey = byte === OPEN_OBJECT && before === COMMA && open.at(-1) === OPEN_OBJECT;
        return !isInPlaceOfKey && open.push(byte) <= MAX_OPEN;
      }
      case CLOSE_OBJECT:
        return open.pop() === OPEN_OBJECT;
      case CLOSE_ARRAY:
        return open.pop() === OPEN_ARRAY;
      default:
        return true;
    }
  }
}
