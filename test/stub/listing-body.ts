import type { Element } from './shown-leads.ts';

const CHUNK_BYTES = 128 * 1024;
/** Maximum UTF-8 bytes of one character (UTF-16 code unit) of a string. */
const MOST_BYTES = 3;

/** Yields the bytes of a listing in chunks of about 128 KB, built on demand. */
export function* listingBytes(
  elements: Iterable<Element>,
  textOf: (element: Element) => string,
): Generator<Buffer> {
  // Encoding each lead by itself is a quarter faster than joining them first: most leads are pure Latin-1.
  let chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let used = chunk.write('[');
  let first = true;
  for (const element of elements) {
    const text = first ? textOf(element) : `,${textOf(element)}`;
    first = false;
    if (used + text.length * MOST_BYTES > chunk.length) {
      yield chunk.subarray(0, used);
      chunk = Buffer.allocUnsafe(Math.max(CHUNK_BYTES, text.length * MOST_BYTES));
      used = 0;
    }
    used += chunk.write(text, used);
  }
  yield chunk.subarray(0, used);
  yield Buffer.from(']');
}

/** Returns the total length in bytes without keeping the chunks. */
export function byteLength(chunks: Iterable<Buffer>): number {
  let length = 0;
  for (const chunk of chunks) length += chunk.length;
  return length;
}

/** Yields the first `length` bytes. */
export function* head(chunks: Iterable<Buffer>, length: number): Generator<Buffer> {
  let left = length;
  for (const chunk of chunks) {
    if (left <= 0) return;
    yield chunk.subarray(0, left);
    left -= chunk.length;
  }
}
