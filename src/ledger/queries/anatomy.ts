import type Database from 'better-sqlite3';
import type { Anatomy, PollRow } from '../contract/shown.ts';
import { pollRow } from './inspection.ts';

/** What the ledger is made of, for whoever looks for a fault from afar. Holds nobody's data. */
export function anatomyOf(db: Database.Database): Anatomy {
  const tables = db
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    .pluck()
    .all();
  const rows = (table: string) => Number(db.prepare(`SELECT count(*) FROM "${table}"`).pluck().get());
  const pragma = (name: string) => Number(db.pragma(name, { simple: true }));
  return {
    sqlite: String(db.prepare('SELECT sqlite_version()').pluck().get()),
    shape: pragma('user_version'),
    bytes: pragma('page_count') * pragma('page_size'),
    freeBytes: pragma('freelist_count') * pragma('page_size'),
    rows: Object.fromEntries(tables.map((table) => [table, rows(table)])),
    schema: db
      .prepare<[], string>('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name')
      .pluck()
      .all(),
  };
}

/** The last polls of all sources, the latest first. */
export function lastPolls(db: Database.Database, limit: number): PollRow[] {
  return db
    .prepare<[number], Record<string, string | number | null>>(
      'SELECT * FROM polls ORDER BY poll_id DESC LIMIT ?',
    )
    .all(limit)
    .map(pollRow);
}
