import {
  QueryRefused,
  type QueryResult,
  type RunSql,
  type TypedQuery,
} from '../../ledger/contract/ledger-tables.ts';
import type { Surroundings } from '../shell/context.ts';
import { refused, tookTooMuch } from './query-failures.ts';
import { type OutputOptions, type Written, writeAnswer } from './query-output.ts';
import { isWritten } from './write-with-back-pressure.ts';

/** Number of rows between two checks of the memory. */
const ROWS_BETWEEN_CHECKS = 500;

/** A query on a server, and how to write its result. */
export interface ServerQuery extends TypedQuery {
  readonly output: OutputOptions;
  /** Maximum memory of this process, in bytes. The server limits its own. */
  readonly maxBytes: number;
}

/**
 * Runs a query on the ledger's server in this process, because the server itself can stop a query. `rows` is undefined if the reader closed the output.
 * @throws CommandFailure if the query is invalid or needs too much memory, LedgerError
 */
export async function runOnServer(
  runSql: RunSql,
  { output, maxBytes, ...query }: ServerQuery,
  { stdout }: Pick<Surroundings, 'stdout'>,
): Promise<{ rows: number | undefined; more: boolean }> {
  let written: Written | undefined;
  try {
    await runSql(query, async ({ columns, rows }) => {
      const bounded = { columns, rows: inMemoryOf(maxBytes, rows) };
      written = await writeAnswer(bounded, output, (text) => isWritten(stdout, text));
    });
  } catch (error) {
    throw error instanceof QueryRefused ? refused(error.message, query.sql) : error;
  }
  return written ?? { rows: undefined, more: false };
}

/** Yields the rows. @throws CommandFailure when this process uses more memory than it may */
async function* inMemoryOf(maxBytes: number, rows: QueryResult['rows']) {
  let read = 0;
  for await (const row of rows) {
    yield row;
    read += 1;
    if (read % ROWS_BETWEEN_CHECKS === 0 && process.memoryUsage.rss() > maxBytes) throw tookTooMuch(maxBytes);
  }
}
