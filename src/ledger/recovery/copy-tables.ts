import type Database from 'better-sqlite3';
import type { DamagedFile, Reading, StoredRow, StoredValue } from './damaged-file.ts';
import { validRow } from './valid-row.ts';

/** The result of copying a table. */
export interface CopiedTable {
  readonly table: string;
  /** The number of rows that were copied. */
  readonly kept: number;
  /**
   * Upper bound on the number of rows that were unreadable, or that leadsync cannot have written in this form; 1 if the table itself could
   * not be found. Later steps may restore some of them.
   */
  readonly unusable: number;
  /** Whether every page of the table was readable and every row was sound. */
  readonly whole: boolean;
}

/** The tables whose rows are copied. `_leads` is derived from `_versions`, and `_comments` comes from this version of leadsync. */
const TABLES = [
  '_ledger',
  '_sources',
  '_mappings',
  '_sinks',
  '_versions',
  '_deliveries',
  '_batches',
  '_attempts',
  '_replays',
  'polls',
  'rejected_leads',
  '_client_keys',
  '_erased',
  '_presence',
  '_listing_sizes',
  '_clock_set_back',
  '_sink_activity',
  '_sink_holds',
] as const;

/** The primary keys of tables that have no row numbers. Other tables are read by row number. */
const WITHOUT_ROWID: Readonly<Record<string, readonly string[]>> = {
  _sources: ['source'],
  _listing_sizes: ['source', 'day'],
  _sink_activity: ['sink_no', 'from_at'],
};

/** Receives the number of rows of a table that have been copied so far. */
export type OnCopied = (table: string, rows: number) => void;

/** Number of rows between two calls of `OnCopied`. */
const TELL_EVERY = 1_000;

/**
 * Copies every sound row of every table into an empty ledger with the same schema. Copies no rows of a table whose position in the file
 * cannot be read. Runs inside its caller's transaction.
 */
export function copyTables(from: DamagedFile, to: Database.Database, onCopied: OnCopied): CopiedTable[] {
  return TABLES.filter((table) => columnsOf(to, table).length > 0).map((table) =>
    from.has(table) ? copyTable(from, to, table, onCopied) : { table, kept: 0, unusable: 1, whole: false },
  );
}

function copyTable(from: DamagedFile, to: Database.Database, table: string, onCopied: OnCopied): CopiedTable {
  const columns = columnsOf(to, table);
  const add = to.prepare<StoredValue[]>(
    `INSERT OR IGNORE INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  );
  const reading: Reading = { missed: 0n, complete: true };
  let [kept, refused] = [0, 0];
  for (const row of rowsOf(from, table, reading)) {
    const sound = validRow(table, row);
    if (sound && added(add, columns, sound)) kept += 1;
    else refused += 1;
    if (kept % TELL_EVERY === 0) onCopied(table, kept);
  }
  onCopied(table, kept);
  // The new ledger keeps its own id if the id of the damaged ledger cannot be read.
  if (table === '_ledger' && kept > 0) to.exec('DELETE FROM _ledger WHERE rowid = 1');
  return {
    table,
    kept,
    unusable: refused + Number(reading.missed),
    whole: reading.complete && refused === 0,
  };
}

function rowsOf(from: DamagedFile, table: string, reading: Reading): Generator<StoredRow> {
  const order = WITHOUT_ROWID[table];
  return order ? from.entries(`SELECT * FROM ${table}`, order, reading) : from.rows(table, reading);
}

/** Inserts a row. Returns false if the schema rejects the row, or a row with its number or name already exists. */
function added(add: Database.Statement<StoredValue[]>, columns: readonly string[], row: StoredRow): boolean {
  try {
    return add.run(...columns.map((column) => row[column] ?? null)).changes === 1;
  } catch (error) {
    if (String((error as { code?: unknown }).code).startsWith('SQLITE_CONSTRAINT')) return false;
    throw error;
  }
}

function columnsOf(db: Database.Database, table: string): string[] {
  return db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table);
}
