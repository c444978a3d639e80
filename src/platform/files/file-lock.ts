import { chmodSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { makePrivateFile } from './private-file.ts';

/** Another process holds the lock. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';
}

/**
 * Takes an exclusive lock on a file, and creates the file if it is missing. Blocks for up to `waitMs`. The operating system releases the
 * lock when the process ends, however it ends, so no stale lock remains. Makes the file private, because every user who may read it could
 * hold a shared lock and so prevent leadsync from starting. @throws LockHeld
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

/** Creates a missing file with the private mode. Restricts the mode of an existing file that belongs to this user. */
function makePrivate(file: string): void {
  // Never opens an existing file: closing it would release this process's own locks on it.
  if (makePrivateFile(file)) return;
  const found = statSync(file, { throwIfNoEntry: false });
  if (found && (found.mode & 0o077) !== 0 && found.uid === process.geteuid?.()) chmodSync(file, PRIVATE_MODE);
}

/**
 * Whether a process holds the lock. Creates no file. While this function checks, for less than 1 ms, another process cannot take the lock:
 * `acquireLock` waits, or throws LockHeld if its `waitMs` is 0.
 * @throws Error if this user may not read the file, or if its folder cannot be reached
 */
export function isLocked(file: string): boolean {
  if (!statSync(file, { throwIfNoEntry: false })) return false;
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
