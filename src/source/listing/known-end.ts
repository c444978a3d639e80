const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
/**
 * The beginning of an object up to its first key. In a string that ends like this, the closing quote is probably the first quote of that
 * key.
 */
const OBJECT_BEGINS = /\{[ \n\r\t]*$/;
/** The characters of a value that is not a string, an object or an array. */
const BARE = /^[-+.\w]*$/;

/**
 * Whether an element that is not valid JSON certainly ends where its brackets balance. A missing quote or bracket moves that end, and the
 * element could then swallow the elements after it, which would be lost silently. Three signs show this: brackets that do not match, an
 * object in place of a key, and a string that ends like the beginning of an object. A valid string can end like that too; treating its end
 * as unknown is the safe choice.
 */
export function hasKnownEnd(element: Buffer): boolean {
  const first = element[0];
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY && first !== QUOTE)
    return BARE.test(element.toString('latin1'));
  const open: number[] = [];
  /** The last byte outside strings that is not white space. */
  let before = 0;
  for (let at = 0; at < element.length; at += 1) {
    const byte = element[at] ?? 0;
    if (byte === QUOTE) {
      const end = endOfString(element, at);
      if (OBJECT_BEGINS.test(element.toString('latin1', at + 1, end))) return false;
      at = end;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (byte === OPEN_OBJECT && before === COMMA && open.at(-1) === OPEN_OBJECT) return false;
      open.push(byte);
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (open.pop() !== (byte === CLOSE_OBJECT ? OPEN_OBJECT : OPEN_ARRAY)) return false;
    }
    if (byte > 0x20) before = byte;
  }
  return true;
}

/** Returns the offset of the closing quote of the string that begins at `start`. */
function endOfString(element: Buffer, start: number): number {
  let at = start + 1;
  while (at < element.length && element[at] !== QUOTE) at += element[at] === BACKSLASH ? 2 : 1;
  return at;
}
