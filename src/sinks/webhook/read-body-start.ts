import type { Readable } from 'node:stream';

/** As much of an answer as is kept, in bytes. */
const LIMIT_BYTES = 1024;
/** As long as the rest of an answer is waited for once its status is known, in ms. */
export const READ_MS = 1000;
/** As much of an answer as is kept, in characters. */
const LIMIT_CHARACTERS = 1000;

/**
 * Reads the beginning of a body whose status has been judged already, and closes the connection when there is more.
 * Never fails: a body that breaks off gives what came.
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
    // The status has said what there is to say; the body is only kept for people to read.
  } finally {
    clearTimeout(timer);
  }
  const text = Buffer.concat(chunks).subarray(0, LIMIT_BYTES).toString('utf8').slice(0, LIMIT_CHARACTERS);
  return text === '' ? undefined : text.toWellFormed();
}
