import Database from 'better-sqlite3';

/** Somebody else holds the lock. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';
}

/**
 * Takes an exclusive lock on a file, which is made when missing. The operating system drops it when the process
 * ends, however it ends, so no stale lock can be left behind. @throws LockHeld
 */
export function acquireLock(file: string): { release(): void } {
  const db = new Database(file, { timeout: 0 });
  try {
    // SQLite's own file lock: an open exclusive transaction on an empty database.
    db.pragma('journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY')) throw new LockHeld(file);
    throw error;
  }
  return { release: () => db.close() };
}
