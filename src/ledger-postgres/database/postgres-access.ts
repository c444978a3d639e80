import type { Pool, PoolClient, QueryResult } from 'pg';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { DeadlinePassed, withinDeadline } from '../../platform/time/deadline.ts';
import { quoted } from '../../postgres/identifier.ts';
import { hostOf, openPool } from '../../postgres/open-pool.ts';
import { AGAIN, isOfServer } from '../../postgres/server-error.ts';
import { Commits } from './commits.ts';
import { toLedgerFailure } from './ledger-failure.ts';
import { type BeforeStatement, NeedsOwingLock, Transaction } from './transaction.ts';

/** Where a ledger in PostgreSQL is, and how many connections to it this process may use. */
export interface PostgresPlace {
  readonly url: string;
  readonly schema: string;
  /** Maximum number of connections that write. Questions have others. */
  readonly connections: number;
  /** The name that PostgreSQL shows for the connections. */
  readonly applicationName: string;
  readonly beforeStatement?: BeforeStatement | undefined;
}

/** Maximum number of tries for a transaction that fails with a serialization failure or a deadlock. */
const TRIES = 3;
/** Maximum number of connections that look up what polls and deliveries need, and of those for questions, which may take long. */
const READERS = 2;
const ASKERS = 2;
/** Maximum time for a transaction, including the wait for a connection, in ms. */
const DEADLINE_MS = 40_000;
const CONNECT_MS = 10_000;
const CLOSE_MS = 5_000;
const never = new AbortController().signal;

interface Pools {
  readonly writers: Pool;
  readonly readers: Pool;
  readonly askers: Pool;
  /** Asks what became of lost transactions. */
  readonly lost: Pool;
}

/** Whether a transaction writes, or `asks` over connections that no poll or delivery waits for; `owes` if it also takes the owing lock, under which alone anything may be recorded as owed. */
type Mode = 'asks' | 'reads' | 'writes' | 'owes';

/** Runs the transactions of a ledger, and converts PostgreSQL's errors to `LedgerError`. */
export class PostgresAccess {
  /** Name for messages, with the host and without a password. */
  readonly where: string;
  readonly #writers: Pool;
  readonly #readers: Pool;
  readonly #askers: Pool;
  readonly #before: BeforeStatement;
  readonly #commits: Commits;
  #failing: LedgerError | undefined;
  #onWrite: () => void = () => undefined;

  private constructor(where: string, pools: Pools, before: BeforeStatement) {
    this.where = where;
    this.#writers = pools.writers;
    this.#readers = pools.readers;
    this.#askers = pools.askers;
    this.#commits = new Commits(where, pools.lost);
    this.#before = before;
  }

  /** Prepares the pools. Connects when the first transaction begins. */
  static async open({
    url,
    schema,
    connections,
    applicationName,
    beforeStatement = () => undefined,
  }: PostgresPlace): Promise<PostgresAccess> {
    const settings = settingsFor(schema);
    const pool = { address: url, connectMs: CONNECT_MS, applicationName, bigintAsNumber: true };
    const writing = { ...pool, settings: { ...settings, ...WRITING } };
    const pools = {
      writers: await openPool({ ...writing, connections }),
      lost: await openPool({ ...writing, connections: 1 }),
      readers: await openPool({ ...writing, connections: READERS }),
      askers: await openPool({ ...pool, connections: ASKERS, settings: { ...settings, ...ASKING } }),
    };
    return new PostgresAccess(`PostgreSQL at ${hostOf(url)}`, pools, beforeStatement);
  }

  async close(): Promise<void> {
    await withinDeadline(CLOSE_MS, never, async () => {
      const pools = [this.#writers, this.#readers, this.#askers];
      await Promise.all([...pools.map((pool) => pool.end()), this.#commits.close()]);
    }).catch((error) => {
      if (!(error instanceof DeadlinePassed)) throw error;
    });
  }

  /** Runs `work` in a transaction of a ledger that may have no tables yet. */
  prepare<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    return this.guard(async () => {
      const client = await this.#writers.connect();
      try {
        await client.query('BEGIN');
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
        await client.query('SET statement_timeout = 0');
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

  /** Like `read`, for questions of pages and commands: over connections that no poll or delivery waits for. */
  ask<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.guard(() => this.#transaction('asks', work));
  }

  /** Runs `work` on one snapshot of the ledger. */
  read<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.guard(() => this.#transaction('reads', work));
  }

  /**
   * Runs `work` in a transaction that hardly ever records anything as owed (see `Transaction.requireOwingLock`). `work` may run several times, so it
   * must have no effects outside the ledger.
   */
  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#track(() => this.#transaction('writes', work));
  }

  /** Like `write`, but under the owing lock. */
  owe<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#track(() => this.#transaction('owes', work));
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

  async #transaction<T>(mode: Mode, work: (tx: Transaction) => Promise<T>): Promise<T> {
    let locks = mode;
    for (let tries = 1; ; tries += 1) {
      try {
        return await withinDeadline(DEADLINE_MS, never, (signal) => this.#once(locks, signal, work));
      } catch (error) {
        if (error instanceof NeedsOwingLock && locks === 'writes') {
          locks = 'owes';
          continue;
        }
        if (tries === TRIES || !isOfServer(error) || !AGAIN.has(error.code ?? '')) throw error;
      }
    }
  }

  #poolOf(mode: Mode): Pool {
    if (mode === 'asks') return this.#askers;
    return mode === 'reads' ? this.#readers : this.#writers;
  }

  async #once<T>(mode: Mode, signal: AbortSignal, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const client = await this.#poolOf(mode).connect();
    let released = false;
    const release = (isBroken: boolean) => {
      if (!released) client.release(isBroken);
      released = true;
    };
    const cut = () => release(true);
    if (signal.aborted) cut();
    else signal.addEventListener('abort', cut, { once: true });
    try {
      await this.#before('begin');
      const isReading = mode === 'asks' || mode === 'reads';
      const at = await (isReading ? beginReading(client) : this.#commits.begin(client, mode === 'owes'));
      const tx = new Transaction(client, { now: at, owes: mode === 'owes' }, this.#before);
      const result = await work(tx);
      await tx.flush();
      await this.#before('commit');
      // What became of a transaction that has changed nothing makes no difference.
      if (tx.hasWritten) await this.#commits.commit(client, { now: at, onLost: cut, signal });
      else await client.query('COMMIT');
      release(false);
      if (tx.hasWritten) this.#onWrite();
      return result;
    } catch (error) {
      // The server rolls back when the connection closes. Report the first failure, not this one.
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

/** Begins a transaction that reads one snapshot, and returns the time of the ledger. */
async function beginReading(client: PoolClient): Promise<number> {
  const sql = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT _now() AS at';
  const [, entered] = (await client.query(sql)) as unknown as QueryResult<{ at: number }>[];
  return entered?.rows[0]?.at as number;
}

/** Returns the settings of every connection. The first schema of the search path is the one of the ledger. */
function settingsFor(schema: string): Record<string, string> {
  return {
    search_path: `${quoted(schema)},pg_catalog`,
    timezone: 'UTC',
    // Plans that are ruled out count as expensive, and compiling an expensive plan takes longer than every statement of the ledger.
    jit: 'off',
    statement_timeout: '30000',
    lock_timeout: '10000',
    idle_in_transaction_session_timeout: '10000',
    tcp_keepalives_idle: '5',
    tcp_keepalives_interval: '2',
    tcp_keepalives_count: '3',
  };
}

/**
 * Settings of connections that polls and deliveries use. Plans are not left to statistics, which are wrong for tables that are empty one minute and have a million
 * rows the next.
 */
export const WRITING = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};

/** Settings of connections for questions: plans depend on which filters are given. */
const ASKING = { ...WRITING, plan_cache_mode: 'force_custom_plan' };
