import type { Element } from './shown-leads.ts';

const CHUNK_BYTES = 64 * 1024;

/** The bytes of a listing in pieces of about 64 KB, made as they are asked for. */
export function* listingBytes(
  elements: Iterable<Element>,
  textOf: (element: Element) => string,
): Generator<Buffer> {
  let text = '[';
  let first = true;
  for (const element of elements) {
    text += first ? textOf(element) : `,${textOf(element)}`;
    first = false;
    if (text.length >= CHUNK_BYTES) {
      yield Buffer.from(text);
      text = '';
    }
  }
  yield Buffer.from(`${text}]`);
}

/** How many bytes that is, without keeping any of them. */
export function byteLength(chunks: Iterable<Buffer>): number {
  let length = 0;
  for (const chunk of chunks) length += chunk.length;
  return length;
}

/** The first `length` bytes. */
export function* head(chunks: Iterable<Buffer>, length: number): Generator<Buffer> {
  let left = length;
  for (const chunk of chunks) {
    if (left <= 0) return;
    yield chunk.subarray(0, left);
    left -= chunk.length;
  }
}
