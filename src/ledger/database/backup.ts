import Database from 'better-sqlite3';
import { diskFailure } from '../../platform/failures/disk-failure.ts';
import { makePrivateFile } from '../../platform/files/private-file.ts';
import { toLedgerError, toReadingError } from '../contract/ledger-error.ts';
import { type RowCounts, rowCounts } from './backup-contents.ts';
import { markedLedgers } from './high-water-mark.ts';
import { BUSY_MS, requireFile } from './ledger-file.ts';
import { removeLedger } from './leftover-files.ts';

/** Number of pages copied per step, about 8 MB. The signal is checked between two steps. */
const PAGES_PER_STEP = 2_000;

/** The progress of a copy, in bytes: how many have been copied (`bytes`), and how many there are (`of`). */
export interface CopyProgress {
  readonly bytes: number;
  readonly of: number;
}

/**
 * Copies one snapshot of a ledger into a new file that only the owner of the file may read. Other processes can write to the ledger during
 * the copy without waiting. If the copy fails, removes the incomplete file. Returns the number of rows of the snapshot.
 * @throws LedgerError if the ledger cannot be read; the error from Node or SQLite if the copy cannot be written; the signal's reason if it
 * aborts
 */
export async function backUpLedger(
  file: string,
  copy: string,
  { signal, onCopied }: { readonly signal: AbortSignal; readonly onCopied: (copied: CopyProgress) => void },
): Promise<RowCounts> {
  requireFile(file);
  makePrivateFile(copy);
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_MS });
    const pageBytes = Number(db.pragma('page_size', { simple: true }));
    // Without its own snapshot, the copy would start again each time another process writes.
    db.exec('BEGIN');
    db.prepare('SELECT 1 FROM sqlite_schema').get();
    const counts = rowCounts(db);
    await db.backup(copy, {
      progress: ({ totalPages, remainingPages }) => {
        signal.throwIfAborted();
        onCopied({ bytes: (totalPages - remainingPages) * pageBytes, of: totalPages * pageBytes });
        return PAGES_PER_STEP;
      },
    });
    return counts;
  } catch (error) {
    removeLedger(copy); // also removes the journal, which SQLite leaves if the disk is full
    if (signal.aborted && error === signal.reason) throw error;
    throw diskFailure(error) ? error : toLedgerError(error, file);
  } finally {
    db?.close();
  }
}

/** Returns the id of the ledger at this path, and the ids of earlier ledgers there that the high-water mark lists. @throws LedgerError */
export function ledgersAt(file: string): readonly string[] {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_MS });
    return [String(db.prepare('SELECT id FROM _ledger').pluck().get()), ...markedLedgers(file)];
  } catch (error) {
    throw toReadingError(error, file);
  } finally {
    db?.close();
  }
}
