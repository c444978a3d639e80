import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type AskLedger,
  LedgerBusy,
  type LedgerPages,
  type PageReader,
} from '../ledger/contract/ledger-pages.ts';
import { DeadlinePassed, withinDeadline } from '../platform/time/deadline.ts';
import { PostgresAccess, type PostgresPlace } from './database/postgres-access.ts';
import { statement } from './database/statement.ts';
import type { Transaction } from './database/transaction.ts';
import { pageQueries } from './page-queries.ts';

/** Maximum time for a query, including its wait for a connection, in ms. */
const TIMEOUT_MS = 5_000;
/** Maximum number of waiting queries. */
const MAX_WAITING = 200;

/** Opens a reader for the pages and the API, with connections of its own, which connect with the first query. */
export async function openPostgresPages(
  place: Omit<PostgresPlace, 'connections'>,
  { timeoutMs = TIMEOUT_MS }: { readonly timeoutMs?: number } = {},
): Promise<PageReader> {
  const running = new AsyncLocalStorage<AbortSignal>();
  const access = await PostgresAccess.open({
    ...place,
    connections: 1,
    beforeStatement: (name) => {
      // A query that has taken too long must not begin another statement.
      running.getStore()?.throwIfAborted();
      return place.beforeStatement?.(name);
    },
  });
  return new PostgresPages(access, running, timeoutMs);
}

/** Runs each query of the pages in one transaction that only reads. */
class PostgresPages implements PageReader {
  readonly #access: PostgresAccess;
  /** Carries the signal of a query to each of its statements. */
  readonly #running: AsyncLocalStorage<AbortSignal>;
  readonly #timeoutMs: number;
  readonly #closing = new AbortController();
  #waiting = 0;
  #closed: Promise<void> | undefined;

  constructor(access: PostgresAccess, running: AsyncLocalStorage<AbortSignal>, timeoutMs: number) {
    this.#access = access;
    this.#running = running;
    this.#timeoutMs = timeoutMs;
  }

  readonly ask: AskLedger = async (name, ...args) => {
    if (this.#waiting >= MAX_WAITING) throw new LedgerBusy('Too many queries are waiting for the ledger.');
    this.#waiting += 1;
    try {
      return await withinDeadline(this.#timeoutMs, this.#closing.signal, (signal) =>
        this.#running.run(signal, () => this.#access.ask((tx) => this.#answer(tx, name, args))),
      );
    } catch (error) {
      throw error instanceof DeadlinePassed ? new LedgerBusy('The ledger did not answer in time.') : error;
    } finally {
      this.#waiting -= 1;
    }
  };

  close(): Promise<void> {
    this.#closing.abort(new LedgerBusy('leadsync is stopping.'));
    this.#closed ??= this.#access.close();
    return this.#closed;
  }

  async #answer<Name extends keyof LedgerPages>(
    tx: Transaction,
    name: Name,
    args: Parameters<LedgerPages[Name]>,
  ): Promise<ReturnType<LedgerPages[Name]>> {
    await tx.first(BEGIN_PAGE, [String(this.#timeoutMs)]);
    return pageQueries[name](tx, ...args);
  }
}

// The server ends a statement that goes on after the query was given up. A list is read in the order of its index, not collected and sorted.
const BEGIN_PAGE = statement(
  'begin-page',
  "SELECT set_config('statement_timeout', $1, true), set_config('enable_bitmapscan', 'off', true)",
);
