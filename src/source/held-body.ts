import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';

const IN_MEMORY_BYTES = 8 * 1024 * 1024;
const READ_BYTES = 256 * 1024;

/**
 * Holds the parts of a body back until it is known whether they are wanted: the first 8 MB in memory, the rest in a
 * file without a name in `folder`, so that whatever ends this process leaves nothing behind.
 */
export class HeldBody {
  readonly #folder: string;
  readonly #memory: Buffer[] = [];
  #memoryBytes = 0;
  #file: FileHandle | undefined;
  #fileBytes = 0;
  #last: Buffer | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** False: the part is held, and it has to be the last, because the disk takes no more. */
  async add(part: Buffer): Promise<boolean> {
    if (this.#memoryBytes + part.length <= IN_MEMORY_BYTES && this.#file === undefined) {
      this.#memory.push(part);
      this.#memoryBytes += part.length;
      return true;
    }
    try {
      this.#file ??= await openNameless(this.#folder);
      await this.#file.writeFile(part); // goes on where the last one ended
      this.#fileBytes += part.length;
      return true;
    } catch {
      // Holding back only saves work. Without room for it the listing is read as if it had changed.
      this.#last = part;
      return false;
    }
  }

  /** Gives back all that was held, in order, and lets go of it. */
  async *release(): AsyncGenerator<Buffer, void, void> {
    try {
      for (let part = this.#memory.shift(); part; part = this.#memory.shift()) yield part;
      for (let at = 0; at < this.#fileBytes; ) {
        const part = await this.#read(at);
        at += part.length;
        yield part;
      }
      if (this.#last !== undefined) yield this.#last;
    } finally {
      await this.drop();
    }
  }

  async drop(): Promise<void> {
    this.#memory.length = 0;
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async #read(at: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, this.#fileBytes - at));
    const { bytesRead } = (await this.#file?.read(buffer, 0, buffer.length, at)) ?? { bytesRead: 0 };
    if (bytesRead === 0) throw new Error('a temporary file is shorter than what was written to it');
    return buffer.subarray(0, bytesRead);
  }
}

async function openNameless(folder: string): Promise<FileHandle> {
  const path = join(folder, `.listing-${randomBytes(8).toString('hex')}.tmp`);
  const file = await open(path, 'wx+', 0o600);
  await rm(path);
  return file;
}
