import type { ClientBase, PoolClient } from 'pg';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { DeadlinePassed, withinDeadline } from '../../platform/time/deadline.ts';
import { quoted } from '../../postgres/identifier.ts';
import { hostOf } from '../../postgres/open-pool.ts';
import { AGAIN, isOfServer } from '../../postgres/server-error.ts';
import { requireKnown } from '../schema/known-shape.ts';
import { begin, type Mode } from './begin-transaction.ts';
import { COMMIT, Commits } from './commits.ts';
import { type Asked, fly } from './flight.ts';
import { endsConnection, isReadOnly, toLedgerFailure } from './ledger-failure.ts';
import type { LedgerPool } from './ledger-pool.ts';
import { type ConnectionPlace, openPools, type Pools } from './pools.ts';
import { Sessions } from './sessions.ts';
import { WITHOUT_TIMEOUTS } from './settings.ts';
import { type BeforeStatement, NeedsOwingLock, Transaction } from './transaction.ts';

/** Where a ledger in PostgreSQL is, and what tests change of its transactions. */
export interface PostgresPlace extends ConnectionPlace {
  readonly beforeStatement?: BeforeStatement | undefined;
  /** Is called before a transaction is run again, with the SQLSTATE for which it is. Tests use it to find deadlocks. */
  readonly onRetry?: ((code: string) => void) | undefined;
}

/** Maximum number of tries for a transaction that fails with a serialization failure or a deadlock. */
const TRIES = 3;
/** Maximum time for a transaction, including the wait for a connection, in ms. */
const DEADLINE_MS = 40_000;
const CLOSE_MS = 5_000;
const never = new AbortController().signal;

/** What a question has found, and `owe`, which changes it. */
interface Found<T> {
  readonly found: T;
  /** Like `PostgresAccess.owe`. @throws LedgerError if another server took over since the question: row numbers may then mean other rows */
  readonly owe: <R>(work: (tx: Transaction) => Promise<R>) => Promise<R>;
}

/** Runs the transactions of a ledger, and converts PostgreSQL's errors to `LedgerError`. */
export class PostgresAccess {
  /** Name for messages, with the host and without a password. */
  readonly where: string;
  readonly #writers: LedgerPool;
  readonly #readers: LedgerPool;
  readonly #askers: LedgerPool;
  readonly #beats: LedgerPool;
  readonly #before: BeforeStatement | undefined;
  readonly #onRetry: (code: string) => void;
  readonly #commits: Commits;
  readonly #sessions: Sessions;
  #failing: LedgerError | undefined;
  #repeated = 0;
  #onWrite: () => void = () => undefined;

  private constructor(
    where: string,
    pools: Pools,
    sessions: Sessions,
    { beforeStatement, onRetry = () => undefined }: PostgresPlace,
  ) {
    this.where = where;
    this.#sessions = sessions;
    this.#writers = pools.writers;
    this.#readers = pools.readers;
    this.#askers = pools.askers;
    this.#beats = pools.beats;
    this.#commits = new Commits(where, pools.lost);
    this.#before = beforeStatement;
    this.#onRetry = onRetry;
  }

  /** Prepares the pools. Connects when the first transaction begins. */
  static async open(place: PostgresPlace): Promise<PostgresAccess> {
    const where = `PostgreSQL at ${hostOf(place.url)}`;
    const sessions = new Sessions(where);
    const pools = await openPools(place, sessions);
    return new PostgresAccess(where, pools, sessions, place);
  }

  async close(): Promise<void> {
    await withinDeadline(CLOSE_MS, never, async () => {
      const pools = [this.#writers, this.#readers, this.#askers, this.#beats];
      await Promise.all([...pools.map((pool) => pool.end()), this.#commits.close()]);
    }).catch((error) => {
      if (!(error instanceof DeadlinePassed)) throw error;
    });
  }

  /** Makes a new connection ready that is in none of the pools. */
  readonly prepareConnection = (client: ClientBase): Promise<void> => this.#sessions.withSettings({})(client);

  /** Runs `work` in a transaction of a ledger that may have no tables yet. The transaction takes as long as it takes. */
  prepare<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    return this.guard(async () => {
      const client = await this.#writers.connect();
      try {
        await client.query('BEGIN');
        const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        this.#sessions.requireOwn(client, rows[0]?.pid);
        await client.query(WITHOUT_TIMEOUTS, [true]);
        const result = await work(client);
        await client.query('COMMIT');
        client.release();
        return result;
      } catch (error) {
        client.release(true);
        throw error;
      }
    });
  }

  /** How many transactions were run again, because of a deadlock or because locks had changed. */
  get repeated(): number {
    return this.#repeated;
  }

  /** Returns the last transient error of a write, until `trackRecovery` clears it. */
  failing(): LedgerError | undefined {
    return this.#failing;
  }

  /** Calls `told` after each commit that has changed something. */
  onWrite(told: () => void): void {
    this.#onWrite = told;
  }

  /** Marks the space of deleted rows as free, so that the server reuses it. Takes as long as it takes. */
  vacuum(tables: readonly string[]): Promise<void> {
    return this.guard(async () => {
      const client = await this.#askers.connect();
      try {
        await client.query(WITHOUT_TIMEOUTS, [false]);
        await client.query(`VACUUM ${tables.map(quoted).join(', ')}`);
      } finally {
        client.release(true); // because of its setting
      }
    });
  }

  /** Sends a notice to a channel. Nothing waits for a disk behind its commit. */
  async notify(channel: string, payload: string): Promise<void> {
    const sql = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";
    await this.#writers.query(sql, [channel, payload]);
  }

  /**
   * Like `read`, for questions of pages and commands: over connections that no poll or delivery waits for. An answer from a former primary may be old.
   * So no write may rest on an answer unless it checks the answer again, or makes it with `find`.
   */
  ask<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.guard(() => this.#transaction('asks', work));
  }

  /** Like `ask`, for row numbers that another transaction then changes. */
  async find<T>(work: (tx: Transaction) => Promise<T>): Promise<Found<T>> {
    const { found, history } = await this.ask(async (tx) => ({ found: await work(tx), history: tx.history }));
    const owe: Found<T>['owe'] = (change) =>
      this.owe((tx) => {
        tx.requireHistory(history);
        return change(tx);
      });
    return { found, owe };
  }

  /**
   * Runs `work` on one snapshot of the ledger, which may be old if a former primary answers. A write that rests on it has to check it again; polls do so by
   * their fence.
   */
  read<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.guard(() => this.#transaction('reads', work));
  }

  /**
   * Runs `work` in a transaction that hardly ever records anything as owed (see `Transaction.requireOwingLock`). `work` may run several times, so it
   * must have no effects outside the ledger. The statements in `first` are sent with the beginning of the transaction: see `Transaction.answer`.
   */
  write<T>(work: (tx: Transaction) => Promise<T>, first: readonly Asked<unknown>[] = []): Promise<T> {
    return this.#track(() => this.#transaction('writes', work, { first }));
  }

  /** Like `write`, but under the owing lock. */
  owe<T>(work: (tx: Transaction) => Promise<T>, first: readonly Asked<unknown>[] = []): Promise<T> {
    return this.#track(() => this.#transaction('owes', work, { first }));
  }

  /** Like `owe`, for moving times after the clock was set: while no other transaction writes, which may have read the time before that. */
  move<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#track(() => this.#transaction('moves', work));
  }

  /**
   * Like `write`, for signs of life and duties: over a connection that nothing else waits for, for at most `deadlineMs`, and without a notice to the
   * other processes.
   */
  beat<T>(deadlineMs: number, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.guard(() => this.#transaction('beats', work, { deadlineMs }));
  }

  /** Returns the result of a write. Clears an earlier failure, because the ledger accepts writes again. */
  async trackRecovery<T>(written: Promise<T>): Promise<T> {
    const result = await written;
    this.#failing = undefined;
    return result;
  }

  async #track<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.guard(work);
    } catch (error) {
      if (error instanceof LedgerError && error.isTransient) this.#failing = error;
      throw error;
    }
  }

  /** Runs `work`, and converts its error to a `LedgerError`. */
  async guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toLedgerFailure(this.where, error);
    }
  }

  async #transaction<T>(
    mode: Mode,
    work: (tx: Transaction) => Promise<T>,
    {
      deadlineMs = DEADLINE_MS,
      first = [],
    }: { readonly deadlineMs?: number; readonly first?: readonly Asked<unknown>[] } = {},
  ): Promise<T> {
    let locks = mode;
    for (let tries = 1; ; tries += 1) {
      try {
        return await withinDeadline(deadlineMs, never, (signal) =>
          this.#once(locks, signal, work, this.#before ? [] : first),
        );
      } catch (error) {
        if (error instanceof NeedsOwingLock && locks === 'writes') {
          locks = 'owes';
          continue;
        }
        if (tries === TRIES || !isOfServer(error) || !AGAIN.has(error.code ?? '')) throw error;
        this.#repeated += 1;
        this.#onRetry(error.code ?? '');
      }
    }
  }

  #poolOf(mode: Mode): LedgerPool {
    if (mode === 'asks') return this.#askers;
    if (mode === 'beats') return this.#beats;
    return mode === 'reads' ? this.#readers : this.#writers;
  }

  /** Returns a connection to the server that has the latest history of the ledger. */
  async #connect(mode: Mode, signal: AbortSignal): Promise<PoolClient> {
    for (;;) {
      const client = await this.#poolOf(mode).connect();
      if (signal.aborted || this.#sessions.isValid(client)) return client;
      client.release(true);
    }
  }

  async #once<T>(
    mode: Mode,
    signal: AbortSignal,
    work: (tx: Transaction) => Promise<T>,
    first: readonly Asked<unknown>[],
  ): Promise<T> {
    const client = await this.#connect(mode, signal);
    let released = false;
    const release = (isBroken: boolean) => {
      if (!released) client.release(isBroken);
      released = true;
    };
    const cut = () => release(true);
    if (signal.aborted) cut();
    else signal.addEventListener('abort', cut, { once: true });
    try {
      await this.#before?.('begin');
      const { at, pid, shape, owes, answers } = await begin(client, mode, { commits: this.#commits, first });
      this.#sessions.requireOwn(client, pid);
      requireKnown(this.where, shape);
      const begun = { now: at, owes, history: this.#sessions.historyOf(client), answers };
      const tx = new Transaction(client, begun, this.#before);
      const result = await work(tx);
      const last = await tx.end();
      await this.#before?.('commit');
      // What became of a transaction that has changed nothing makes no difference.
      if (tx.hasWritten) await this.#commits.commit(client, { last, now: at, onLost: cut, signal });
      else await fly(client, [COMMIT]);
      release(false);
      if (tx.hasWritten && mode !== 'beats') this.#onWrite();
      return result;
    } catch (error) {
      // The server rolls back when the connection closes. Report the first failure, not this one.
      if (endsConnection(error)) release(true);
      if (isReadOnly(error)) this.#sessions.expireAll();
      if (!released)
        await client.query('ROLLBACK').then(
          () => release(false),
          () => release(true),
        );
      throw error;
    } finally {
      signal.removeEventListener('abort', cut);
    }
  }
}
