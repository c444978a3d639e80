import { z } from 'zod';
import { LedgerError } from '../ledger/contract/ledger-error.ts';
import { codeOf } from '../platform/failures/error-code.ts';
import type { DocumentLock, DocumentStore } from '../platform/files/document-store.ts';
import { LockHeld } from '../platform/files/file-lock.ts';
import { KeptDocument } from '../platform/files/kept-document.ts';
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

const DOCUMENT = /^(.+)\.json$/;

/** Stores the state of each export and backup, and locks them against concurrent runs, for all processes of an installation. */
export interface ExportStates {
  /** The folder on this machine in which exports are made, before they are moved to their destinations. */
  readonly folder: string;
  /** Returns where the state of an export is, for messages. */
  placeOf(name: string): string;
  /**
   * Returns the state of an export; undefined if there is none or it cannot be read. @throws LedgerError if the server that has it cannot be
   * reached, and this process has not read it before
   */
  read(name: string): Promise<ExportState | undefined>;
  /** Writes a state durably. If that fails, keeps the state in memory. */
  write(name: string, state: ExportState): Promise<void>;
  /** Removes the state of an export that is no longer configured. */
  forget(name: string): Promise<void>;
  /** Returns the names of exports with a state, readable or not. @throws an error with a `code` if they cannot be listed */
  names(): Promise<readonly string[]>;
  /** Reserves an export for runs of this process; undefined if another process has reserved or locked it. @throws an error with a `code` */
  claim(name: string): Promise<DocumentLock | undefined>;
  /** Locks an export against all runs. @throws LockHeld if another process holds the lock, ExportFailed, or an error with a `code` */
  lock(name: string): Promise<{ release(): Promise<void> }>;
  /** Whether any process is running the export; false if that is unknown. */
  isRunning(name: string): Promise<boolean>;
}

/**
 * Stores the state of each export in a document of its own, so that a manual run and the daemon do not interfere with each other. The loss of such
 * a document costs little: one export runs too early, or exports all rows. Two locks keep runs apart: the one of the document, between all machines, which
 * the process holds that starts a run, and one in `folder`, which the process of the run itself holds, because it may briefly outlive the other.
 */
export class StoredExportStates implements ExportStates {
  readonly folder: string;
  readonly #documents: DocumentStore;
  /** If states that cannot be written were not kept in memory, an export would be due again at every check. */
  readonly #kept = new Map<string, KeptDocument>();

  /** @param folder where runs on this machine make their files; may contain documents, and else only files of exports */
  constructor(documents: DocumentStore, folder: string) {
    this.#documents = documents;
    this.folder = folder;
  }

  placeOf(name: string): string {
    return this.#documents.placeOf(`${name}.json`);
  }

  async read(name: string): Promise<ExportState | undefined> {
    try {
      const text = await this.#of(name).read();
      return text === undefined ? undefined : schema.parse(JSON.parse(text));
    } catch (error) {
      if (error instanceof LedgerError) throw error;
      return undefined; // an export that starts from the beginning is better than none
    }
  }

  /** @throws any error that does not come from the store */
  async write(name: string, state: ExportState): Promise<void> {
    await this.#of(name)
      .write(JSON.stringify(state))
      .catch((error: unknown) => {
        if (codeOf(error) === undefined) throw error;
      });
  }

  async forget(name: string): Promise<void> {
    await this.#of(name).remove();
  }

  async names(): Promise<readonly string[]> {
    const names = await this.#documents.names().catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return []; // no export has ever run
      throw error;
    });
    return names.flatMap((name) => DOCUMENT.exec(name)?.[1] ?? []).filter((name) => !name.startsWith('.'));
  }

  async claim(name: string): Promise<DocumentLock | undefined> {
    await this.#documents.prepare();
    return this.#documents.tryLock(claimOf(name));
  }

  async lock(name: string): Promise<{ release(): Promise<void> }> {
    const lock = lockExport(this.folder, name);
    try {
      const claim = await this.claim(name);
      if (!claim) throw new LockHeld(name);
      const release = async () => {
        await claim.release();
        lock.release();
      };
      return { release };
    } catch (error) {
      lock.release();
      throw folderFailure(this.folder, error) ?? error;
    }
  }

  async isRunning(name: string): Promise<boolean> {
    if (isRunning(this.folder, name)) return true;
    return this.#documents.isLocked(claimOf(name)).catch(() => false);
  }

  #of(name: string): KeptDocument {
    const kept = this.#kept.get(name) ?? new KeptDocument(this.#documents, `${name}.json`);
    this.#kept.set(name, kept);
    return kept;
  }
}

/** Returns the name of the lock between machines. It differs from the one in `folder`, which the process of a run takes while this one is held. */
function claimOf(name: string): string {
  return `${name}.run`;
}
