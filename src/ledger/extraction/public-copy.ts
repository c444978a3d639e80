import Database from 'better-sqlite3';
import { type ColumnType, commentOf, type Relation } from '../../catalog/relation.ts';
import type { Rows } from '../contract/ledger-tables.ts';

/** The declared types, from which tools recognise the contents of a column (https://www.sqlite.org/datatype3.html). */
const DECLARED: Readonly<Record<ColumnType, string>> = {
  text: 'TEXT',
  bigint: 'INTEGER',
  integer: 'INTEGER',
  double: 'REAL',
  boolean: 'INTEGER',
  time: 'TIMESTAMP',
  day: 'DATE',
  json: 'TEXT',
  jsonb: 'TEXT',
};

/**
 * Writes an SQLite file with the public tables and views of the store as tables of the same names. The private tables are left out, apart
 * from `_comments`.
 */
export class PublicCopy {
  readonly #db: Database.Database;

  /** Creates the file. */
  constructor(file: string) {
    this.#db = new Database(file);
    // No journal and no sync: the caller renames the file into place when it is complete.
    this.#db.pragma('journal_mode = OFF');
    this.#db.pragma('synchronous = OFF');
    this.#db.exec('CREATE TABLE _comments (relation TEXT NOT NULL, "column" TEXT, comment TEXT NOT NULL)');
  }

  /** Creates a table. Returns a function that inserts rows into it in one transaction. */
  add(relation: Relation): (rows: Rows) => void {
    const { name, columns } = relation;
    const declared = columns.map((column) => `"${column.name}" ${DECLARED[column.type]}`);
    this.#db.exec(`CREATE TABLE ${name} (${declared.join(', ')})`);
    const comment = this.#db.prepare('INSERT INTO _comments VALUES (?, ?, ?)');
    comment.run(name, null, commentOf(relation));
    for (const column of columns) comment.run(name, column.name, column.means);
    const insert = this.#db.prepare(`INSERT INTO ${name} VALUES (${columns.map(() => '?').join(', ')})`);
    return this.#db.transaction((rows: Rows) => {
      for (const row of rows) insert.run(row);
    });
  }

  /** Creates the indexes of a table: by its key, and by lead. */
  index({ name, key, columns }: Relation): void {
    if (key.length > 0) this.#db.exec(`CREATE INDEX ${name}_by_key ON ${name} (${key.join(', ')})`);
    const isOfLeads = columns.some((column) => column.name === 'lead_id') && !key.includes('lead_id');
    if (isOfLeads) this.#db.exec(`CREATE INDEX ${name}_by_lead ON ${name} (source, lead_id)`);
  }

  close(): void {
    this.#db.close();
  }
}
