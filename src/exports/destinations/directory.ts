import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../platform/failures/error-code.ts';
import { disk, makeFolderDurably } from '../../platform/files/files.ts';
import { folderFailure } from '../contract/export-failed.ts';
import { inOrder, inTheMaking, isInTheMaking, isOf } from '../contract/export-name.ts';
import type { Destination } from './destination.ts';

/** Exports are personal data mostly: whoever else should read them shares the group. */
const FOLDER_MODE = 0o750;

/** A folder in which the files of an export appear. */
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
        if (isInTheMaking(this.#name, name))
          await rm(join(this.folder, name), { recursive: true, force: true });
    });
  }

  async bring(): Promise<void> {
    // It was made where it belongs.
  }

  async list(): Promise<readonly string[]> {
    return this.#told(async () => {
      const names = await this.#names();
      return inOrder(names.filter((name) => isOf(this.#name, name)));
    });
  }

  async remove(file: string): Promise<void> {
    await this.#told(async () => {
      // A folder is emptied file by file: under a name that says so, which a run after a stop removes as well.
      const leaving = inTheMaking(join(this.folder, file));
      await disk.rename(join(this.folder, file), leaving);
      await rm(leaving, { recursive: true, force: true });
    });
  }

  nameOf(file: string): string {
    return join(this.folder, file);
  }

  read<T>(file: string, use: (path: string) => Promise<T>): Promise<T> {
    return use(join(this.folder, file));
  }

  close(): void {
    // Nothing is open.
  }

  /** None where the folder is not there. */
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
