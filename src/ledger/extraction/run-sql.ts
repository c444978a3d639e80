import Database from 'better-sqlite3';
import { LedgerError, toReadingError } from '../contract/ledger-error.ts';
import { type Cell, QueryRefused, type QueryResult, type QueryValues } from '../contract/ledger-tables.ts';
import { requireFile } from '../database/ledger-file.ts';
import { requireCurrentSchema } from '../schema/upgrading.ts';

/** Maximum wait for a lock, in ms. Writers do not block readers, but recovery after a crash does. */
const BUSY_MS = 5_000;

/** The keywords that a query may begin with. None of them can attach a file or change the connection. */
const QUERY = /^(\s|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/|\()*(SELECT|WITH|VALUES|EXPLAIN)\b/i;

/**
 * Runs one query on a ledger over a read-only connection, and passes the result to `use`. Blocks while SQLite searches for the next row, so it must
 * run in a separate process, which can be killed. @throws QueryRefused, LedgerError
 */
export async function runSql(
  file: string,
  sql: string,
  values: QueryValues,
  use: (answer: QueryResult) => Promise<void>,
): Promise<void> {
  requireFile(file);
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_MS });
    db.pragma('query_only = ON');
    db.pragma('trusted_schema = OFF');
    requireCurrentSchema(db);
    const answer = prepare(db, sql, values);
    try {
      await use(answer);
    } finally {
      answer.rows.return?.(); // the connection cannot be closed while rows are still to be read
    }
  } catch (error) {
    throw explained(error, file);
  } finally {
    db?.close();
  }
}

function prepare(db: Database.Database, sql: string, values: QueryValues) {
  if (!QUERY.test(sql))
    throw new QueryRefused('This is not a query. A query begins with SELECT, WITH, VALUES or EXPLAIN.');
  const statement = db.prepare<[QueryValues], Cell[]>(sql);
  if (!statement.reader)
    throw new QueryRefused(
      'This statement returns no rows. It would write, but the ledger is open read-only.',
    );
  statement.safeIntegers().raw();
  return { columns: statement.columns().map(({ name }) => name), rows: statement.iterate(values) };
}

/** The error codes with which SQLite reports that the query is at fault. */
const WRONG: ReadonlySet<string> = new Set([
  'SQLITE_ERROR',
  'SQLITE_READONLY',
  'SQLITE_MISMATCH',
  'SQLITE_TOOBIG',
  'SQLITE_NOMEM',
]);

function explained(error: unknown, file: string): Error {
  if (error instanceof QueryRefused || error instanceof LedgerError) return error;
  // The driver's errors if the string contains several statements, or if a value is missing.
  if (error instanceof RangeError || error instanceof TypeError) return new QueryRefused(`${error.message}.`);
  const { code, message } = error as { code?: unknown; message: string };
  return WRONG.has(String(code)) ? new QueryRefused(`SQLite says: ${message}.`) : toReadingError(error, file);
}
