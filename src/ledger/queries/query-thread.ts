import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { toReadingError } from '../contract/ledger-error.ts';
import type { LedgerPages } from '../contract/ledger-pages.ts';
import { limitCache } from '../database/ledger-file.ts';
import { PageQueries } from './page-queries.ts';

/* The program in the thread of a `QueryThread`. It runs one query after another on a read-only connection. */

/** A call of one of the `LedgerPages`. */
export interface QueryRequest {
  readonly id: number;
  readonly name: keyof LedgerPages;
  readonly args: readonly unknown[];
}

/** The result of a call, or the parts of its error, because a message cannot carry an instance of a class. */
export type QueryResponse = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly failure: Pick<ReturnType<typeof toReadingError>, 'code' | 'message' | 'hint'> }
);

/** Maximum wait for a lock while SQLite recovers the ledger after a crash, in ms. */
const BUSY_MS = 1_000;

const { file } = workerData as { file: string };
let queries: PageQueries | undefined;
let db: Database.Database | undefined;

parentPort?.on('message', (request: QueryRequest) => parentPort?.postMessage(answer(request)));

function openReader(): Database.Database {
  const reader = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_MS });
  limitCache(reader);
  return reader;
}

function answer({ id, name, args }: QueryRequest): QueryResponse {
  try {
    db ??= openReader();
    queries ??= new PageQueries(db);
    const query = queries[name].bind(queries) as (...given: readonly unknown[]) => unknown;
    // Each query reads one snapshot, which ends when the query returns, so that it does not delay the checkpoint of the write-ahead log.
    const value = db.transaction(() => query(...args)).deferred();
    return { id, value };
  } catch (error) {
    const { code, message, hint } = toReadingError(error, file);
    return { id, failure: { code, message, hint } };
  }
}
