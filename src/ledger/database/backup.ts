import Database from 'better-sqlite3';
import { diskFailure } from '../../platform/failures/disk-failure.ts';
import { makePrivateFile } from '../../platform/files/private-file.ts';
import { toLedgerError } from '../contract/ledger-error.ts';
import { BUSY_MS, requireFile } from './ledger-file.ts';
import { removeLedger } from './leftovers.ts';

/** Pages at a time, about 8 MB: between two steps a signal is noticed. */
const PAGES_AT_ONCE = 2_000;

/** How much of a ledger is copied, in bytes. */
export interface Copied {
  readonly bytes: number;
  readonly of: number;
}

/**
 * Copies a ledger into a new file, which only its owner may read, as the ledger is at one moment. Others may write to it meanwhile:
 * the copy holds one snapshot, and writers wait for nothing. Of a copy that fails nothing is left. @throws LedgerError of the ledger, Node's or SQLite's error of the copy,
 * the signal's reason
 */
export async function backUpLedger(
  file: string,
  copy: string,
  { signal, onCopied }: { readonly signal: AbortSignal; readonly onCopied: (copied: Copied) => void },
): Promise<void> {
  requireFile(file);
  makePrivateFile(copy);
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_MS });
    const pageBytes = Number(db.pragma('page_size', { simple: true }));
    // Without a snapshot of its own, the copy would begin anew each time that another process writes.
    db.exec('BEGIN');
    db.prepare('SELECT 1 FROM sqlite_schema').get();
    await db.backup(copy, {
      progress: ({ totalPages, remainingPages }) => {
        signal.throwIfAborted();
        onCopied({ bytes: (totalPages - remainingPages) * pageBytes, of: totalPages * pageBytes });
        return PAGES_AT_ONCE;
      },
    });
  } catch (error) {
    removeLedger(copy); // and its journal, which SQLite leaves where the disk is full
    if (signal.aborted && error === signal.reason) throw error;
    throw diskFailure(error) ? error : toLedgerError(error, file);
  } finally {
    db?.close();
  }
}
