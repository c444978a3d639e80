import { readFileSync, statSync } from 'node:fs';

/** The path leads to something that is not read: `kind`, a named pipe or a device; `size`, a file that is too large. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
  readonly because: 'kind' | 'size';

  constructor(path: string, because: 'kind' | 'size') {
    super(`${path} is ${because === 'kind' ? 'a named pipe or a device' : 'too large'}`);
    this.because = because;
  }
}

/**
 * Returns the bytes of a regular file. A named pipe would block the whole process until somebody writes to it, and a device such as
 * `/dev/zero` never ends, so neither is opened. @throws UnreadableFile, or Node's own error
 */
export function readRegularFile(path: string, maxBytes: number): Buffer {
  const found = statSync(path);
  if (!found.isFile() && !found.isDirectory()) throw new UnreadableFile(path, 'kind');
  if (found.size > maxBytes) throw new UnreadableFile(path, 'size');
  return readFileSync(path);
}
