import type { Pool, PoolClient } from 'pg';
import { type Cell, QueryRefused, type TypedQuery } from '../ledger/contract/ledger-tables.ts';
import { DeadlinePassed, withinDeadline } from '../platform/time/deadline.ts';
import { hostOf, openPool } from '../postgres/open-pool.ts';
import { isOfServer } from '../postgres/server-error.ts';
import type { PostgresPlace } from './database/postgres-access.ts';
import { numberParameters } from './number-parameters.ts';
import { toQueryFailure } from './query-failure.ts';
import { beginQuery } from './query-session.ts';
import { type StreamedResult, streamRows } from './streamed-rows.ts';

const CONNECT_MS = 10_000;
/** Maximum time to end a query on the server, or to close the connections, in ms. */
const STOP_MS = 5_000;
const never = new AbortController().signal;

/** The keywords that a query may begin with. */
const QUERY = /^(\s|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/|\()*(SELECT|WITH|VALUES|EXPLAIN)\b/i;

/**
 * Runs one query on a ledger in PostgreSQL, and passes the result to `use`, which counts for its time. The query sees one snapshot and cannot write.
 * @throws QueryRefused, LedgerError
 */
export async function runSql(
  { url, schema, applicationName }: Pick<PostgresPlace, 'url' | 'schema' | 'applicationName'>,
  query: TypedQuery,
  use: (result: StreamedResult) => Promise<void>,
): Promise<void> {
  if (!QUERY.test(query.sql))
    throw new QueryRefused('This is not a query. A query begins with SELECT, WITH, VALUES or EXPLAIN.');
  // The second connection ends the query.
  const pool = await openPool({ address: url, connections: 2, connectMs: CONNECT_MS, applicationName });
  const where = `PostgreSQL at ${hostOf(url)}`;
  const timeoutMs = Math.ceil(query.timeoutMs); // 0 would mean no limit.
  try {
    // A connection of its own: with it end all locks that a query may take, which are advisory locks.
    const client = await explaining(where, undefined, () => pool.connect());
    try {
      const pid = await explaining(where, undefined, () => beginQuery(client, schema, timeoutMs));
      await withinTime(timeoutMs, { pool, pid }, async (signal) =>
        use(await read(client, where, query, signal)),
      );
    } finally {
      client.release(true); // The server rolls back.
    }
  } finally {
    await withinDeadline(STOP_MS, never, () => pool.end()).catch(() => undefined);
  }
}

async function read(
  client: PoolClient,
  where: string,
  { sql, values }: TypedQuery,
  signal: AbortSignal,
): Promise<StreamedResult> {
  const numbered = numberParameters(sql, values);
  const given = numbered.names.map((name) => String(values[name]));
  const typed = numbered.sql;
  // A statement with a name is sent by the protocol that accepts only one statement.
  const { columns, rows } = await explaining(where, typed, () =>
    streamRows(client, { name: 'typed', text: typed, values: given }),
  );
  return { columns, rows: explainingEach(where, typed, rows, signal) };
}

/** Yields rows, until the signal aborts. */
async function* explainingEach(
  where: string,
  typed: string,
  rows: AsyncIterable<Cell[]>,
  signal: AbortSignal,
): AsyncGenerator<Cell[]> {
  const found = rows[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await explaining(where, typed, () => found.next());
    signal.throwIfAborted();
    if (done) return;
    yield value;
  }
}

/** Runs `work`, and converts its error to one that contains no data of the ledger. `typed` is the SQL, once it was sent. */
async function explaining<T>(where: string, typed: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (typed !== undefined && isTimeout(error)) throw new DeadlinePassed();
    throw toQueryFailure(where, error, typed);
  }
}

/** Whether the server ended a statement or a transaction because of its limit. */
function isTimeout(error: unknown): boolean {
  return isOfServer(error) && ['57014', '25P03', '25P04'].includes(error.code ?? '');
}

/**
 * Runs `work` with the server's process `pid`, and ends that process when the time is over. The limit of the server is not enough: a query may lift it.
 * @throws QueryRefused when the time is over, or the error of `work`
 */
async function withinTime(
  timeoutMs: number,
  { pool, pid }: { readonly pool: Pool; readonly pid: number },
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  try {
    await withinDeadline(timeoutMs, never, work);
  } catch (error) {
    if (!(error instanceof DeadlinePassed)) throw error;
    const isEnded = await withinDeadline(STOP_MS, never, () => pool.query(END, [pid])).then(
      () => true,
      () => false,
    );
    const outcome = isEnded ? 'was stopped' : 'could not be stopped on the server, where it may still run';
    throw new QueryRefused(
      `The query took longer than ${timeoutMs / 1_000} s and ${outcome}. Select less (a time range, one source), or allow more time.`,
    );
  }
}

const END = 'SELECT pg_terminate_backend($1)';
