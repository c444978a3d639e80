import { chownSync, copyFileSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { codeOf } from '../../platform/failures/error-code.ts';
import { reach } from '../../platform/process/failpoint.ts';
import { LedgerError, toLedgerError } from '../contract/ledger-error.ts';
import { syncFile } from './build-recovered.ts';
import { tolerateDamage } from './damaged-file.ts';

/** The sizes and times of a ledger's file and write-ahead log, which change with each write. */
export type LedgerState = string;

/** Returns the present state of a ledger's files. A missing write-ahead log counts as an empty one. */
export function stateOf(file: string): LedgerState {
  const log = statSync(`${file}-wal`, { bigint: true, throwIfNoEntry: false });
  const { size, mtimeNs } = statSync(file, { bigint: true });
  return `${size}@${mtimeNs} ${log?.size ? `${log.size}@${log.mtimeNs}` : ''}`;
}

/**
 * Replaces a ledger with another, such as the recovered one, and keeps the old ledger under the name `aside`. If the process or the machine
 * dies during the exchange, either the whole old ledger or the whole new ledger is in place.
 * @param read the state of the old ledger before the new one was made
 * @throws LedgerError if the exchange failed and the old ledger is still in its place
 */
export function exchangeLedger(file: string, recovered: string, aside: string, read: LedgerState): void {
  try {
    requireState(file, read);
    // With a log, the old ledger is two files, and a log that stays beside the new ledger would damage it.
    emptyLog(file);
    const emptied = stateOf(file);
    reach('recover-log-emptied');
    keepOwner(file, recovered);
    requireState(file, emptied);
    keepAs(file, aside);
    reach('recover-kept');
    renameSync(recovered, file);
    reach('recover-exchanged');
    syncFile(dirname(file));
  } catch (error) {
    throw failed(error, file);
  }
}

/** Checks that no process has written to the ledger, for example to record a pause or an erasure, because the new ledger would lack that change. */
function requireState(file: string, state: LedgerState): void {
  if (stateOf(file) === state) return;
  throw new LedgerError(
    'busy',
    `Another process wrote to the ledger ${file} in the meantime. The ledger is still in its place.`,
    'Run the command again, and do not run any other leadsync command until it has finished.',
  );
}

/** Copies the log into the file despite damage, and removes the log. */
function emptyLog(file: string): void {
  const db = new Database(file, { fileMustExist: true });
  try {
    tolerateDamage(db);
    const [state] = db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
    if (state.busy !== 0) throw Object.assign(new Error('another process reads it'), { code: 'SQLITE_BUSY' });
  } finally {
    db.close();
  }
  syncFile(file);
  for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
}

/** If root runs the recovery, gives a new file to the owner of the damaged one. */
function keepOwner(file: string, made: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(file);
  chownSync(made, uid, gid);
}

/** Keeps the file under a second name, as a hard link, or as a copy if the file system does not support links. */
function keepAs(file: string, aside: string): void {
  try {
    linkSync(file, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOSPC' || codeOf(error) === 'EEXIST') throw error;
    copyFileSync(file, aside);
    keepOwner(file, aside);
    syncFile(aside);
  }
  syncFile(dirname(file));
}

function failed(error: unknown, file: string): LedgerError {
  if (error instanceof LedgerError) return error;
  const code = codeOf(error);
  if (code?.startsWith('SQLITE')) return toLedgerError(error, file);
  return new LedgerError(
    code === 'ENOSPC' ? 'full' : 'io',
    `The new ledger could not replace ${file} (${code}).`,
    'The old ledger is still in its place. Check the disk and the permissions of data_dir, then run the command again.',
    error,
  );
}
