import { statfs } from 'node:fs/promises';

/** Returns the free space of the file system of a folder, in bytes. Undefined if the file system does not state it or cannot be asked. */
export async function freeBytes(folder: string): Promise<number | undefined> {
  try {
    const { blocks, bavail, bsize } = await statfs(folder);
    return blocks > 0 ? bavail * bsize : undefined;
  } catch {
    return undefined; // other code reports that the folder cannot be used
  }
}
