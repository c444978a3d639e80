import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../platform/failures/error-code.ts';
import { disk, makeFolderDurably } from '../../platform/files/file-system.ts';
import { temporaryName } from '../../platform/files/temporary-name.ts';
import { folderFailure } from '../contract/export-failed.ts';
import { inOrder, isOf, isTemporaryName } from '../contract/export-name.ts';
import type { Destination } from './destination.ts';

/** Exports contain personal data, so only this user and its group may read them. */
const FOLDER_MODE = 0o750;

/** A folder as the destination of an export or backup. */
export class Directory implements Destination {
  readonly #name: string;
  readonly folder: string;

  constructor(name: string, folder: string) {
    this.#name = name;
    this.folder = folder;
  }

  async check(): Promise<void> {
    for (let folder = this.folder; ; folder = dirname(folder)) {
      try {
        await disk.probeFolder(folder);
        return;
      } catch (error) {
        if (codeOf(error) === 'ENOENT' && dirname(folder) !== folder) continue;
        throw folderFailure(folder, error) ?? error;
      }
    }
  }

  async prepare(first: boolean): Promise<void> {
    await this.#told(async () => {
      if (first) await makeFolderDurably(disk, this.folder, FOLDER_MODE);
      else await disk.probeFolder(this.folder);
    });
  }

  async tidy(): Promise<void> {
    await this.#told(async () => {
      for (const name of await this.#names())
        if (isTemporaryName(this.#name, name))
          await rm(join(this.folder, name), { recursive: true, force: true });
    });
  }

  async bring(): Promise<void> {
    // There is nothing to move: the export was written directly to its destination.
  }

  async list(): Promise<readonly string[]> {
    return this.#told(async () => {
      const names = await this.#names();
      return inOrder(names.filter((name) => isOf(this.#name, name)));
    });
  }

  async remove(file: string): Promise<void> {
    await this.#told(async () => {
      // The removal of a folder can be interrupted. Rename the folder to a temporary name first, so that the next run removes what is left.
      const leaving = temporaryName(join(this.folder, file));
      await disk.rename(join(this.folder, file), leaving);
      await rm(leaving, { recursive: true, force: true });
    });
  }

  nameOf(file: string): string {
    return join(this.folder, file);
  }

  async readStart(file: string, bytes: number): Promise<Buffer> {
    return this.#told(async () => {
      const opened = await open(join(this.folder, file), 'r');
      try {
        const { buffer, bytesRead } = await opened.read(Buffer.alloc(bytes), 0, bytes, 0);
        return buffer.subarray(0, bytesRead);
      } finally {
        await opened.close();
      }
    });
  }

  read<T>(file: string, use: (path: string) => Promise<T>): Promise<T> {
    return use(join(this.folder, file));
  }

  close(): void {
    // Nothing is open.
  }

  /** Returns the names in the folder; an empty list if it does not exist. */
  #names(): Promise<readonly string[]> {
    return disk.list(this.folder).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    });
  }

  async #told<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw folderFailure(this.folder, error) ?? error;
    }
  }
}
