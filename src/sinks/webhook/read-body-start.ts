import type { Readable } from 'node:stream';

/** Maximum bytes of a body that are read. */
const LIMIT_BYTES = 1024;
/** Maximum time to read a body, after the status has arrived, in ms. */
export const READ_MS = 1000;
/** Maximum characters of a body that are returned. */
const LIMIT_CHARACTERS = 1000;

/**
 * Returns the beginning of a body, or undefined if it is empty. Closes the connection if the body is longer than `LIMIT_BYTES` or takes
 * longer than `READ_MS`. Never throws: for a body that breaks off, returns the part that arrived.
 */
export async function readBodyStart(body: Readable): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const timer = setTimeout(() => body.destroy(), READ_MS);
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > LIMIT_BYTES) break;
    }
  } catch {
    // The status alone decides the outcome; the body is only shown to people.
  } finally {
    clearTimeout(timer);
  }
  const text = Buffer.concat(chunks).subarray(0, LIMIT_BYTES).toString('utf8').slice(0, LIMIT_CHARACTERS);
  return text === '' ? undefined : text.toWellFormed();
}
