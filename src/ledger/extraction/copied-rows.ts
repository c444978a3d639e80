import Database from 'better-sqlite3';
import type { Cell } from '../contract/ledger-tables.ts';

/** A table of an SQLite file. The values of a row are in the order of the columns. */
export interface CopiedTable {
  readonly columns: readonly string[];
  readonly rows: Iterable<readonly Cell[]>;
}

/**
 * Yields the tables of a file that `PublicCopy` wrote. The caller reads the rows of a table before it requests the next table.
 * @throws SqliteError
 */
export function* copiedTables(file: string): Generator<CopiedTable> {
  const db = new Database(file, { readonly: true, fileMustExist: true });
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
    for (const table of tables) {
      const select = db.prepare<[], Cell[]>(`SELECT * FROM "${table}"`).safeIntegers().raw();
      yield { columns: select.columns().map(({ name }) => name), rows: select.iterate() };
    }
  } finally {
    db.close();
  }
}
