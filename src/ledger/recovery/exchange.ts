import { chownSync, copyFileSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { codeOf } from '../../platform/failures/error-code.ts';
import { reach } from '../../platform/process/failpoint.ts';
import { LedgerError, toLedgerError } from '../contract/ledger-error.ts';
import { syncFile } from './build.ts';
import { tolerateDamage } from './damaged-file.ts';

/** A ledger as its file and its log show it: it differs after each write. */
export type LedgerState = string;

/** Returns how a ledger's file and its log are now. Without a log it is as with an empty one. */
export function stateOf(file: string): LedgerState {
  const log = statSync(`${file}-wal`, { bigint: true, throwIfNoEntry: false });
  const { size, mtimeNs } = statSync(file, { bigint: true });
  return `${size}@${mtimeNs} ${log?.size ? `${log.size}@${log.mtimeNs}` : ''}`;
}

/**
 * Puts a recovered ledger in the place of the damaged one, which stays under the name `aside`. Whatever ends the process or the machine
 * in between, either the old or the new ledger is there, complete. `read` is how the damaged one was before it was read.
 * @throws LedgerError when the old one is still in its place
 */
export function exchangeLedger(file: string, recovered: string, aside: string, read: LedgerState): void {
  try {
    requireState(file, read);
    // With a log beside it the old ledger is two files, and a log that is left beside the new one would damage that.
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

/** Commands that pause, retry or erase need no leadsync to run: the recovered ledger would not have what they wrote. */
function requireState(file: string, state: LedgerState): void {
  if (stateOf(file) === state) return;
  throw new LedgerError(
    'busy',
    `The ledger ${file} was written to while it was being recovered. It is still in its place.`,
    'Run the command again, and no other command of leadsync until it has ended.',
  );
}

/** Moves what the log holds into the file, whatever the pages say, and removes the log. */
function emptyLog(file: string): void {
  const db = new Database(file, { fileMustExist: true });
  try {
    tolerateDamage(db);
    const [state] = db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
    if (state.busy !== 0) throw Object.assign(new Error('somebody reads it'), { code: 'SQLITE_BUSY' });
  } finally {
    db.close();
  }
  syncFile(file);
  for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
}

/** What root recovers still belongs to the user that leadsync runs as. */
function keepOwner(file: string, recovered: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(file);
  chownSync(recovered, uid, gid);
}

/** A second name for the same file; a copy where the file system has no such names. */
function keepAs(file: string, aside: string): void {
  try {
    linkSync(file, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOSPC' || codeOf(error) === 'EEXIST') throw error;
    copyFileSync(file, aside);
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
    `The recovered ledger could not be put in the place of ${file} (${code}).`,
    'The old ledger is still in its place. Check the disk and who may write to data_dir, and run the command again.',
    error,
  );
}
