import type Database from 'better-sqlite3';
import type { DatabaseStats } from '../contract/status-rows.ts';

/** Returns the version, sizes, row counts and schema of the ledger, for a support bundle. Contains no personal data. */
export function databaseStats(db: Database.Database): DatabaseStats {
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
