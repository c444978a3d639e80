import { chmodSync, existsSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { makePrivateFile } from './private-file.ts';

/** Somebody else holds the lock. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';
}

/**
 * Takes an exclusive lock on a file, which is made when missing. The operating system drops it when the process
 * ends, however it ends, so no stale lock can be left behind. Waits `waitMs` at most, and blocks meanwhile. The file is made
 * private: another user who may read it could hold a shared lock on it, and keep leadsync from starting. @throws LockHeld
 */
export function acquireLock(file: string, waitMs = 0): { release(): void } {
  makePrivate(file);
  const db = new Database(file, { timeout: waitMs });
  try {
    // SQLite's own file lock: an open exclusive transaction on an empty database.
    db.pragma('journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (isBusy(error)) throw new LockHeld(file);
    throw error;
  }
  return { release: () => db.close() };
}

const PRIVATE_MODE = 0o600;

/** Makes the file with the private mode where it is missing; narrows one of this user's that is there with more. */
function makePrivate(file: string): void {
  // Never opens a file that is there: closing it would drop this process's own locks on it.
  if (makePrivateFile(file)) return;
  const found = statSync(file, { throwIfNoEntry: false });
  if (found && (found.mode & 0o077) !== 0 && found.uid === process.geteuid?.()) chmodSync(file, PRIVATE_MODE);
}

/** Whether somebody holds that lock. Makes no file; whoever takes the lock in the same moment waits for less than one ms. */
export function isLocked(file: string): boolean {
  if (!existsSync(file)) return false;
  const db = new Database(file, { readonly: true, timeout: 0 });
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    db.close();
  }
}

function isBusy(error: unknown): boolean {
  return String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY');
}
