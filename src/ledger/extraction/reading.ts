import Database from 'better-sqlite3';
import { LedgerError, toReadingError } from '../contract/ledger-error.ts';
import { requireFile } from '../database/ledger-file.ts';
import { requireThisShape } from '../database/upgrading.ts';

/** How long a query waits for somebody's lock, in ms. Writers hold none against readers; recovery after a crash does. */
const BUSY_MS = 5_000;

/** What SQLite gives: integers as bigint, so that ids are exact. */
export type Cell = string | bigint | number | Buffer | null;

/** What a parameter of a query may be bound to: an integer as bigint, a decimal as number. */
export type QueryValue = string | bigint | number;

/** A query's values by the names of its parameters. */
export type QueryValues = Readonly<Record<string, QueryValue>>;

/** The answer to a query, row by row as it is found. */
export interface Answer {
  readonly columns: readonly string[];
  readonly rows: IterableIterator<readonly Cell[]>;
}

/** The SQL cannot be run, in SQLite's words or ours. They may repeat the SQL, and nothing of the ledger. */
export class QueryRefused extends Error {
  override readonly name = 'QueryRefused';
}

/** The words that a query may begin with. None of them can attach a file, or change how the connection works. */
const QUERY = /^(\s|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/|\()*(SELECT|WITH|VALUES|EXPLAIN)\b/i;

/**
 * Runs one query on a ledger through a connection that cannot write: SQLite opens the file for reading alone. Blocks for as
 * long as SQLite takes to find a row, so it wants a process of its own, which can be ended.
 * @throws QueryRefused, LedgerError
 */
export function ask(file: string, sql: string, values: QueryValues, use: (answer: Answer) => void): void {
  requireFile(file);
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_MS });
    db.pragma('query_only = ON');
    db.pragma('trusted_schema = OFF');
    requireThisShape(db);
    const answer = prepare(db, sql, values);
    try {
      use(answer);
    } finally {
      answer.rows.return?.(); // the connection cannot be closed while rows are still to come
    }
  } catch (error) {
    throw explained(error, file);
  } finally {
    db?.close();
  }
}

function prepare(db: Database.Database, sql: string, values: QueryValues): Answer {
  if (!QUERY.test(sql))
    throw new QueryRefused('This is no query. A query begins with SELECT, WITH, VALUES or EXPLAIN.');
  const statement = db.prepare<[QueryValues], Cell[]>(sql);
  if (!statement.reader)
    throw new QueryRefused('This gives no rows: it would write, and the ledger is opened for reading alone.');
  statement.safeIntegers().raw();
  return { columns: statement.columns().map(({ name }) => name), rows: statement.iterate(values) };
}

/** What SQLite answers with when it is the query that is at fault. */
const WRONG: ReadonlySet<string> = new Set([
  'SQLITE_ERROR',
  'SQLITE_READONLY',
  'SQLITE_MISMATCH',
  'SQLITE_TOOBIG',
  'SQLITE_NOMEM',
]);

function explained(error: unknown, file: string): Error {
  if (error instanceof QueryRefused || error instanceof LedgerError) return error;
  // The driver's words for what is no single statement, or lacks a value.
  if (error instanceof RangeError || error instanceof TypeError) return new QueryRefused(`${error.message}.`);
  const { code, message } = error as { code?: unknown; message: string };
  return WRONG.has(String(code)) ? new QueryRefused(`SQLite says: ${message}.`) : toReadingError(error, file);
}
