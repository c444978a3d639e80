import { readFileSync, statSync } from 'node:fs';

/** A file was not read, because it is a named pipe or a device (`kind`), or too large (`size`). */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
  readonly because: 'kind' | 'size';

  constructor(path: string, because: 'kind' | 'size') {
    super(`${path} is ${because === 'kind' ? 'a named pipe or a device' : 'too large'}`);
    this.because = because;
  }
}

/**
 * Returns the bytes of a regular file of at most `maxBytes`. Opens neither a named pipe, which would block this process until another
 * process writes to it, nor a device such as `/dev/zero`, which never ends. @throws UnreadableFile, or the error of Node.js
 */
export function readRegularFile(path: string, maxBytes: number): Buffer {
  const found = statSync(path);
  if (!found.isFile() && !found.isDirectory()) throw new UnreadableFile(path, 'kind');
  if (found.size > maxBytes) throw new UnreadableFile(path, 'size');
  return readFileSync(path);
}
