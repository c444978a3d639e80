import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Maximum number of characters in a line of standard output. Longer lines are discarded. */
const MAX_LINE = 64 * 1024;

/** Reads a stream to its end. Returns a function that returns the last `max` bytes that were read. */
export function keepEnd(stream: Readable, max: number): () => Buffer {
  let kept: Buffer = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk.subarray(-max)]).subarray(-max);
  });
  stream.on('error', () => undefined); // what was read until then is enough
  return () => kept;
}

/** Reads a stream to its end and calls `onLine` with each line, without the line break. Skips lines that are too long. */
export function eachLine(stream: Readable, onLine: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let [line, isTooLong] = ['', false];
  const add = (text: string) => {
    if (isTooLong) return;
    line += text;
    if (line.length > MAX_LINE) [line, isTooLong] = ['', true];
  };
  const end = () => {
    if (!isTooLong && line !== '') onLine(line);
    [line, isTooLong] = ['', false];
  };
  stream.on('data', (chunk: Buffer) => {
    const [first = '', ...more] = decoder.write(chunk).split('\n');
    add(first);
    for (const next of more) {
      end();
      add(next);
    }
  });
  stream.on('error', () => undefined);
  stream.on('close', () => {
    add(decoder.end());
    end();
  });
}
