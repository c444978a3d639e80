import { basename, dirname, join } from 'node:path';
import { codeOf } from '../../platform/failures/error-code.ts';
import {
  type Files,
  makeFolderDurably,
  TEMPORARY,
  writeFileDurably,
} from '../../platform/files/file-system.ts';
import { DeadlinePassed, withinDeadline } from '../../platform/time/deadline.ts';
import { type AttemptUnderWay, WITHOUT_LEASE } from '../sink.ts';
import type { SinkParts } from '../sink-type.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import {
  appearedMeanwhile,
  type ChooseFile,
  type Drop,
  type DroppedFile,
  type EarlierFiles,
} from './drop.ts';
import { creationFailure, folderFailure, readingFailure } from './folder-failure.ts';

/** Readable only by the owner and the group, because leads are personal data. */
const FILE_MODE = 0o640;
const FOLDER_MODE = 0o750;
/** Maximum difference between this clock and that of a file server, in ms. */
const CLOCKS_APART_MS = 60_000;
/** Names of the day folders within a drop. */
const PARTITION = /^day=/;

/** A drop in a folder. */
export class FolderDrop implements Drop {
  readonly #directory: string;
  readonly #parts: Pick<SinkParts, 'clock' | 'timeoutMs'>;
  readonly #files: Files;
  #folderMade = false;
  #lastFolder: string | undefined;

  constructor(directory: string, parts: Pick<SinkParts, 'clock' | 'timeoutMs'>, files: Files) {
    this.#directory = directory;
    this.#parts = parts;
    this.#files = files;
  }

  get place(): string {
    return this.#directory;
  }

  /** Verifies that leadsync can write to the folder, or create it. */
  async check(signal: AbortSignal): Promise<void> {
    await this.#reach(signal, () => this.#probe(this.#directory));
  }

  async write(
    name: string,
    content: Buffer,
    signal: AbortSignal,
    { confirmLease }: AttemptUnderWay = WITHOUT_LEASE,
  ): Promise<void> {
    await this.#reach(signal, async (signal) => {
      const path = this.nameOf(name);
      await this.#makeFolders(dirname(path), signal);
      await this.#drop(path, content, { confirmLease, replaces: true });
    });
  }

  async writeRest(
    earlier: EarlierFiles,
    choose: ChooseFile,
    signal: AbortSignal,
    { confirmLease }: AttemptUnderWay = WITHOUT_LEASE,
  ): Promise<void> {
    await this.#reach(signal, async (signal) => {
      await this.#makeFolders(dirname(this.nameOf(earlier.start)), signal);
      const file = await choose(this.#read(this.#earlier(earlier), signal));
      signal.throwIfAborted();
      if (file) await this.#drop(this.nameOf(file.name), file.content, { confirmLease, replaces: false });
    });
  }

  files(ending: string, signal: AbortSignal): AsyncGenerator<DroppedFile> {
    return this.#read(this.#filesOf(ending), signal);
  }

  async *#read(files: AsyncIterable<string>, signal: AbortSignal): AsyncGenerator<DroppedFile> {
    const directory = this.#directory;
    try {
      for await (const file of files) {
        const content = await this.#files.read(file);
        signal.throwIfAborted();
        // Without content, a consumer removed the file after it was listed.
        if (content) yield { file, content };
      }
    } catch (cause) {
      if (signal.aborted)
        throw new SinkUnavailable(`Reading ${directory} was interrupted.`, { hint: '', cause });
      if (codeOf(cause) !== 'ENOENT') throw readingFailure(directory, cause);
    }
  }

  nameOf(name: string): string {
    return join(this.#directory, name);
  }

  targetOf(name: string): string {
    return `file ${this.nameOf(name)}`;
  }

  async close(): Promise<void> {
    // No file stays open between two batches.
  }

  async *#filesOf(ending: string): AsyncGenerator<string> {
    const names = (await this.#files.list(this.#directory)).toSorted();
    const days = names.filter((name) => PARTITION.test(name)).map((name) => join(this.#directory, name));
    for (const folder of [this.#directory, ...days])
      for (const name of (await this.#listed(folder)).toSorted())
        if (name.startsWith('leads-') && name.endsWith(ending)) yield join(folder, name);
  }

  async *#earlier({ start, ending }: EarlierFiles): AsyncGenerator<string> {
    const path = this.nameOf(start);
    const names = await this.#files.list(dirname(path));
    // The attempt that wrote one of them may have died before it synced the folder.
    await this.#files.syncFolder(dirname(path));
    for (const name of names)
      if (name.startsWith(basename(path)) && name.endsWith(ending)) yield join(dirname(path), name);
  }

  /** Returns the names in a folder, or none if it no longer exists. */
  async #listed(folder: string): Promise<readonly string[]> {
    try {
      return await this.#files.list(folder);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  async #drop(
    path: string,
    content: Buffer,
    { confirmLease, replaces }: { confirmLease: () => void; replaces: boolean },
  ): Promise<void> {
    await this.#removeLeftovers(path);
    const present = await this.#files.read(path);
    // The attempt that wrote it may have died before it synced the folder.
    if (present?.equals(content)) await this.#files.syncFolder(dirname(path));
    else if (present && !replaces) throw appearedMeanwhile(path);
    else await writeFileDurably(this.#files, path, content, FILE_MODE, confirmLease);
  }

  /**
   * Creates the folder once. Does not create it again if it vanishes later: its volume may be unmounted, and the mount would then hide the
   * new folder.
   */
  async #makeFolder(): Promise<void> {
    if (this.#folderMade) return;
    try {
      await makeFolderDurably(this.#files, this.#directory, FOLDER_MODE);
    } catch (error) {
      throw creationFailure(this.#directory, error);
    }
    this.#folderMade = true;
  }

  /** Creates the drop's folder and, if `folder` is a day folder in it, that folder too. */
  async #makeFolders(folder: string, signal: AbortSignal): Promise<void> {
    await this.#makeFolder();
    signal.throwIfAborted();
    if (folder === join(this.#directory)) return;
    await this.#files.list(this.#directory); // throws if the drop has vanished: the next line would create it again
    await makeFolderDurably(this.#files, folder, FOLDER_MODE);
  }

  /**
   * Removes temporary files that killed attempts left behind, because they contain personal data. Removes those of `path` at any age, because
   * every earlier attempt to write `path` has ended. Keeps recent ones of other files, because another process may be writing them.
   */
  async #removeLeftovers(path: string): Promise<void> {
    const folder = dirname(path);
    const own = path.slice(folder.length + 1);
    const folders = this.#lastFolder === folder ? [folder] : new Set([folder, ...(await this.#partitions())]);
    for (const one of folders)
      for (const name of await this.#files.list(one)) {
        if (!name.startsWith('.leads-') || !TEMPORARY.test(name)) continue;
        const leftover = join(one, name);
        if (name.startsWith(`.${own}.`) || (await this.#isLeftover(leftover)))
          await this.#files.remove(leftover);
      }
    this.#lastFolder = folder;
  }

  /**
   * Returns the day folders. Their leftovers are removed at the start and with each new day, because leadsync writes only to today's
   * folder.
   */
  async #partitions(): Promise<string[]> {
    const names = await this.#files.list(this.#directory);
    return names.filter((name) => PARTITION.test(name)).map((name) => join(this.#directory, name));
  }

  async #isLeftover(path: string): Promise<boolean> {
    const modifiedAt = await this.#files.modifiedAt(path).catch(() => undefined); // its writer renamed or removed it
    if (modifiedAt === undefined) return false;
    return this.#parts.clock.now().getTime() - modifiedAt.getTime() > this.#parts.timeoutMs + CLOCKS_APART_MS;
  }

  /** Probes the folder, or its nearest existing parent. */
  async #probe(folder: string): Promise<void> {
    try {
      await this.#files.probeFolder(folder);
    } catch (error) {
      const directory = this.#directory;
      if (codeOf(error) === 'ENOENT' && dirname(folder) !== folder) await this.#probe(dirname(folder));
      else throw folder === directory ? folderFailure(directory, error) : creationFailure(directory, error);
    }
  }

  async #reach(stop: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const directory = this.#directory;
    try {
      await withinDeadline(this.#parts.timeoutMs, stop, work);
    } catch (cause) {
      if (stop.aborted)
        throw new SinkUnavailable(`Writing to ${directory} was interrupted.`, { hint: '', cause });
      if (cause instanceof SinkUnavailable) throw cause;
      if (!(cause instanceof DeadlinePassed)) throw folderFailure(directory, cause);
      const message = `Writing to ${directory} took longer than ${this.#parts.timeoutMs / 1000} s.`;
      throw new SinkUnavailable(message, { hint: 'Check whether it is a network mount that hangs.', cause });
    }
  }
}
