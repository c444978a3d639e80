import { join } from 'node:path';
import type { DocumentLock, DocumentStore } from './document-store.ts';
import { acquireLock, isLocked, LockHeld } from './file-lock.ts';
import { type Files, makeFolderDurably, TEMPORARY, writeFileDurably } from './file-system.ts';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** Maximum wait for a lock, in ms. A process that only checks the lock holds it for less time than this. */
const LOOK_MS = 20;

/** The operating system ends a lock with its process, and not before. */
const never = new AbortController();

/** Documents as files in one folder, which only their owner can read. The lock of a dead process is free immediately. */
export class DocumentFolder implements DocumentStore {
  readonly hint = 'Check that the user that leadsync runs as owns data_dir, and that the disk is not full.';
  readonly #files: Files;
  readonly #folder: string;

  constructor(files: Files, folder: string) {
    this.#files = files;
    this.#folder = folder;
  }

  placeOf(name: string): string {
    return join(this.#folder, name);
  }

  async prepare(): Promise<void> {
    await makeFolderDurably(this.#files, this.#folder, FOLDER_MODE);
  }

  probe(): Promise<void> {
    return this.#files.probeFolder(this.#folder);
  }

  async names(): Promise<readonly string[]> {
    const names = await this.#files.list(this.#folder);
    return names.filter((name) => !TEMPORARY.test(name));
  }

  async read(name: string): Promise<string | undefined> {
    return (await this.#files.read(this.placeOf(name)))?.toString('utf8');
  }

  async write(name: string, text: string): Promise<void> {
    await this.#removeLeftovers(name);
    await writeFileDurably(this.#files, this.placeOf(name), Buffer.from(text), FILE_MODE);
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#files.rename(this.placeOf(from), this.placeOf(to));
    await this.#files.syncFolder(this.#folder);
  }

  remove(name: string): Promise<void> {
    return this.#files.remove(this.placeOf(name));
  }

  async tryLock(name: string): Promise<DocumentLock | undefined> {
    try {
      const lock = acquireLock(this.#lockFile(name), LOOK_MS);
      return { lost: never.signal, isHeld: () => true, release: async () => lock.release() };
    } catch (error) {
      if (error instanceof LockHeld) return undefined;
      throw error;
    }
  }

  async isLocked(name: string): Promise<boolean> {
    return isLocked(this.#lockFile(name));
  }

  #lockFile(name: string): string {
    return this.placeOf(`${name}.lock`);
  }

  /** Removes temporary files of a document. A crash during a write leaves one behind, which may contain a secret. */
  async #removeLeftovers(name: string): Promise<void> {
    for (const found of await this.#files.list(this.#folder)) {
      if (found.startsWith(`.${name}.`) && TEMPORARY.test(found)) await this.remove(found);
    }
  }
}
