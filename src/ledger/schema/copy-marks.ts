import type Database from 'better-sqlite3';
import { movedError, unfinishedError } from '../contract/copy-errors.ts';
import type { Moved } from '../contract/ledger-copy.ts';

/**
 * The tables by which a copy of a ledger marks the two. They are no part of the schema: `_copying` exists only until the copy is finished, and
 * `_moved` only in a ledger that was moved.
 */
export const COPYING = 'CREATE TABLE _copying (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT';
const MOVED = 'CREATE TABLE IF NOT EXISTS _moved (moved_to TEXT NOT NULL, moved_at INTEGER NOT NULL) STRICT';

/** Whether the ledger is a copy that was not finished. */
export function isCopying(db: Database.Database): boolean {
  return has(db, '_copying');
}

/** Requires that the ledger is no unfinished copy. @throws LedgerError with the code `unfinished` */
export function requireFinished(db: Database.Database): void {
  if (isCopying(db)) throw unfinishedError(db.name);
}

/** Returns where the ledger was moved to, and when, in ms since 1970; undefined if it was not moved. */
export function movedTo(db: Database.Database): Moved | undefined {
  if (!has(db, '_moved')) return undefined;
  return db.prepare<[], Moved>('SELECT moved_to AS "to", moved_at AS at FROM _moved LIMIT 1').get();
}

/** Requires that the ledger was not moved. @throws LedgerError with the code `moved` */
export function requireNotMoved(db: Database.Database): void {
  const moved = movedTo(db);
  if (moved) throw movedError(db.name, moved.to, moved.at);
}

/** Marks the ledger as moved; with undefined, takes the mark away. Returns whether it was marked. */
export function markMoved(db: Database.Database, moved: Moved | undefined): boolean {
  return db
    .transaction(() => {
      const was = movedTo(db) !== undefined;
      if (was) db.exec('DROP TABLE _moved');
      if (!moved) return was;
      db.exec(MOVED);
      db.prepare('INSERT INTO _moved VALUES (?, ?)').run(moved.to, moved.at);
      return was;
    })
    .immediate();
}

function has(db: Database.Database, table: string): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table) !== undefined;
}
