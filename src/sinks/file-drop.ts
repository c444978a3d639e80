import { dirname, join } from 'node:path';
import { codeOf } from '../platform/failures/error-code.ts';
import { type Files, makeFolderDurably, TEMPORARY, writeFileDurably } from '../platform/files/files.ts';
import { DeadlinePassed, withinDeadline } from '../platform/time/deadline.ts';
import { creationFailure, folderFailure } from './folder-failure.ts';
import { type AttemptUnderWay, type SinkParts, SinkUnavailable, WITHOUT_LEASE } from './sink.ts';

/** Leads are personal data: whoever else should read them shares the group. */
const FILE_MODE = 0o640;
const FOLDER_MODE = 0o750;
/** How far the clock of a file server may be from ours, in ms. */
const CLOCKS_APART_MS = 60_000;
/** Folders that files may lie in, within the one that they are dropped in. */
const PARTITION = /^day=/;

/** A folder that files of leads are dropped in, each complete the moment it appears. */
export class FileDrop {
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

  /** Sees whether the folder can be written to, or made. @throws SinkUnavailable */
  async check(signal: AbortSignal): Promise<void> {
    await this.#reach(signal, () => this.#probe(this.#directory));
  }

  /**
   * Writes a file of that name, in a folder of its own within the drop where the name has one. One that is there with this content
   * is left alone. @throws SinkUnavailable for whatever fails, the deadline, the stop and the end of the lease included
   */
  async write(
    name: string,
    content: Buffer,
    signal: AbortSignal,
    { confirmLease }: AttemptUnderWay = WITHOUT_LEASE,
  ): Promise<void> {
    await this.#reach(signal, async (signal) => {
      await this.#makeFolder();
      signal.throwIfAborted();
      const path = join(this.#directory, name);
      await this.#makePartition(dirname(path));
      await this.#removeLeftovers(path);
      await this.#drop(path, content, confirmLease);
    });
  }

  async #drop(path: string, content: Buffer, confirmLease: () => void): Promise<void> {
    const present = await this.#files.read(path);
    // The attempt that wrote it may have ended before its name was safe from a power cut.
    if (present?.equals(content)) await this.#files.syncFolder(dirname(path));
    else await writeFileDurably(this.#files, path, content, FILE_MODE, confirmLease);
  }

  /** Makes the folder once; one that vanishes later may be a mount point, and must not be filled underneath. */
  async #makeFolder(): Promise<void> {
    if (this.#folderMade) return;
    try {
      await makeFolderDurably(this.#files, this.#directory, FOLDER_MODE);
    } catch (error) {
      throw creationFailure(this.#directory, error);
    }
    this.#folderMade = true;
  }

  async #makePartition(folder: string): Promise<void> {
    if (folder === join(this.#directory)) return;
    await this.#files.list(this.#directory); // fails when it has vanished, before it would be made with what is in it
    await makeFolderDurably(this.#files, folder, FOLDER_MODE);
  }

  /**
   * Removes what attempts that were killed have left: it is personal data that nobody looks after. Those at this very file
   * are over, since it is attempted anew. Younger ones of other batches may belong to a process that is writing now.
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

  /** Looked through at the start and at each new one: nothing is written to those of other days. */
  async #partitions(): Promise<string[]> {
    const names = await this.#files.list(this.#directory);
    return names.filter((name) => PARTITION.test(name)).map((name) => join(this.#directory, name));
  }

  async #isLeftover(path: string): Promise<boolean> {
    const modifiedAt = await this.#files.modifiedAt(path).catch(() => undefined); // gone by now: its writer was alive
    if (modifiedAt === undefined) return false;
    return this.#parts.clock.now().getTime() - modifiedAt.getTime() > this.#parts.timeoutMs + CLOCKS_APART_MS;
  }

  /** The folder, or the nearest one above that is there. */
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
        throw new SinkUnavailable(`Writing to ${directory} was cut off.`, { hint: '', cause });
      if (cause instanceof SinkUnavailable) throw cause;
      if (!(cause instanceof DeadlinePassed)) throw folderFailure(directory, cause);
      const message = `Writing to ${directory} took longer than ${this.#parts.timeoutMs / 1000} s.`;
      throw new SinkUnavailable(message, { hint: 'See whether it is a network mount that hangs.', cause });
    }
  }
}
