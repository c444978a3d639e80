import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { codeOf } from '../platform/failures/error-code.ts';
import { type Files, makeFolderDurably, writeFileDurably } from '../platform/files/file-system.ts';
import { folderFailure } from './contract/export-failed.ts';
import { isRunning, lockExport } from './export-lock.ts';

const time = z.coerce.date();

const schema = z.object({
  /** Configuration of the export without secrets, for commands that show what a change would do. */
  config: z.string(),
  /** When the export was first configured. */
  since: time,
  /** The last run that succeeded. */
  done: z
    .object({
      startedAt: time,
      finishedAt: time,
      /** When the run began to read the ledger, by the ledger's clock; absent if a version of leadsync that did not record this made the export. */
      ledgerAt: time.optional(),
      /** Value of `_exported_at` in the rows; absent if a version of leadsync that did not write this column made the export. */
      exportedAt: time.optional(),
      place: z.string(),
      rows: z.number(),
      bytes: z.number(),
      /** Configuration of the export at the time of the run, without secrets. */
      config: z.string(),
    })
    .optional(),
  /** The last failure after the last successful run. */
  failed: z
    .object({ at: time, times: z.number(), message: z.string(), hint: z.string(), retryAt: time })
    .optional(),
});

/** The stored state of a scheduled export or backup, which survives a restart. */
export type ExportState = Readonly<z.output<typeof schema>>;

const FILE = /^(.+)\.json$/;

/** Stores the state of each export and backup, and locks them against concurrent runs. */
export interface ExportStates {
  /** The folder on this machine in which exports are made, before they are moved to their destinations. */
  readonly folder: string;
  /** Returns the state of an export; undefined if there is none or it cannot be read. */
  read(name: string): Promise<ExportState | undefined>;
  /** Writes a state durably. If that fails, keeps the state in memory. */
  write(name: string, state: ExportState): Promise<void>;
  /** Removes the state of an export that is no longer configured. */
  forget(name: string): Promise<void>;
  /** Returns the names of exports with a state, readable or not. @throws the error from Node if they cannot be listed */
  names(): Promise<readonly string[]>;
  /** Locks an export against other runs. @throws LockHeld if another process holds the lock, ExportFailed */
  lock(name: string): Promise<{ release(): void }>;
  /** Whether any process is running the export; false if that is unknown. */
  isRunning(name: string): Promise<boolean>;
}

/**
 * Stores the state of each export in a file of its own, so that a manual run and the daemon do not interfere with each other. The ledger
 * does not hold these states, because the loss of such a file costs little: one export runs too early, or exports all rows.
 */
export class ExportStateFiles implements ExportStates {
  readonly #files: Files;
  /** States that could not be written. If they were not kept in memory, an export would be due again at every check. */
  readonly #unwritten = new Map<string, ExportState>();
  /** Also contains the state files and the locks, and only files that belong to exports. */
  readonly folder: string;

  constructor(files: Files, dataDir: string) {
    this.#files = files;
    this.folder = join(dataDir, 'exports');
  }

  async read(name: string): Promise<ExportState | undefined> {
    const unwritten = this.#unwritten.get(name);
    if (unwritten) return unwritten;
    try {
      return schema.parse(JSON.parse(await readFile(this.#pathOf(name), 'utf8')));
    } catch {
      return undefined; // an export that starts from the beginning is better than none
    }
  }

  /** @throws any error that does not come from the disk */
  async write(name: string, state: ExportState): Promise<void> {
    this.#unwritten.set(name, state);
    try {
      await makeFolderDurably(this.#files, this.folder, 0o700);
      await writeFileDurably(this.#files, this.#pathOf(name), Buffer.from(JSON.stringify(state)), 0o600);
      this.#unwritten.delete(name);
    } catch (error) {
      if (!folderFailure(this.folder, error)) throw error;
    }
  }

  async forget(name: string): Promise<void> {
    this.#unwritten.delete(name);
    await this.#files.remove(this.#pathOf(name));
  }

  async names(): Promise<readonly string[]> {
    const names = await readdir(this.folder).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return []; // no export has ever run
      throw error;
    });
    return names.flatMap((name) => FILE.exec(name)?.[1] ?? []).filter((name) => !name.startsWith('.'));
  }

  async lock(name: string): Promise<{ release(): void }> {
    return lockExport(this.folder, name);
  }

  async isRunning(name: string): Promise<boolean> {
    return isRunning(this.folder, name);
  }

  #pathOf(name: string): string {
    return join(this.folder, `${name}.json`);
  }
}
