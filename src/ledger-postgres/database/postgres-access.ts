import type { Pool, PoolClient } from 'pg';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { DeadlinePassed, withinDeadline } from '../../platform/time/deadline.ts';
import { quoted } from '../../postgres/identifier.ts';
import { hostOf, openPool } from '../../postgres/open-pool.ts';
import { AGAIN, isOfServer } from '../../postgres/server-error.ts';
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
/** Maximum number of connections that read. */
const READERS = 2;
/** Maximum time for a transaction, including the wait for a connection, in ms. */
const DEADLINE_MS = 40_000;
const CONNECT_MS = 10_000;
const CLOSE_MS = 5_000;
/** Number of times that an unknown commit is asked for while the server still works on it, and the wait in between, in ms. */
const ASKS = 10;
const ASK_AGAIN_MS = 200;

const never = new AbortController().signal;

/** Whether a transaction writes; `owes` if it also takes the owing lock, under which alone anything may be recorded as owed. */
type Mode = 'reads' | 'writes' | 'owes';

/** Runs the transactions of a ledger, and converts PostgreSQL's errors to `LedgerError`. */
export class PostgresAccess {
  /** Name for messages, with the host and without a password. */
  readonly where: string;
  readonly #writers: Pool;
  readonly #readers: Pool;
  readonly #before: BeforeStatement;
  /** The timelines of the servers behind the connections: another one after a failover. */
  readonly #timelines = new WeakMap<PoolClient, string | null>();
  #failing: LedgerError | undefined;
  #onWrite: () => void = () => undefined;

  private constructor(where: string, writers: Pool, readers: Pool, before: BeforeStatement) {
    this.where = where;
    this.#writers = writers;
    this.#readers = readers;
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
    const writers = await openPool({ ...pool, connections, settings: { ...settings, ...WRITING } });
    const readers = await openPool({ ...pool, connections: READERS, settings });
    return new PostgresAccess(`PostgreSQL at ${hostOf(url)}`, writers, readers, beforeStatement);
  }

  async close(): Promise<void> {
    await withinDeadline(CLOSE_MS, never, async () => {
      await Promise.all([this.#writers.end(), this.#readers.end()]);
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

  /** Sends a notice to a channel. Nothing waits for a disk behind its commit. */
  async notify(channel: string, payload: string): Promise<void> {
    const sql = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";
    await this.#writers.query(sql, [channel, payload]);
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

  async #once<T>(mode: Mode, signal: AbortSignal, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const client = await (mode === 'reads' ? this.#readers : this.#writers).connect();
    let released = false;
    const release = (isBroken: boolean) => {
      if (!released) client.release(isBroken);
      released = true;
    };
    const cut = () => release(true);
    if (signal.aborted) cut();
    else signal.addEventListener('abort', cut, { once: true });
    try {
      const timeline = mode === 'reads' ? null : await this.#prepare(client);
      await this.#before('begin');
      const { at, xact } = await begin(client, mode);
      const tx = new Transaction(client, { now: at, owes: mode === 'owes' }, this.#before);
      const result = await work(tx);
      await tx.flush();
      await this.#before('commit');
      if (mode === 'reads') await client.query('COMMIT');
      else await this.#commit(client, { xact, timeline });
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

  /**
   * Commits. If the connection ends before the server's answer, asks the server over another connection what became of the transaction.
   * @throws the error of the commit, if the transaction was not committed or nobody knows
   */
  async #commit(client: PoolClient, sent: { xact: string; timeline: string | null }): Promise<void> {
    try {
      const { command } = await client.query('COMMIT');
      if (command !== 'COMMIT') throw new Error('PostgreSQL rolled the transaction back');
    } catch (error) {
      if (!isUnknown(error) || !(await this.#isCommitted(sent).catch(() => false))) throw error;
    }
  }

  async #isCommitted({ xact, timeline }: { xact: string; timeline: string | null }): Promise<boolean> {
    if (timeline === null) return false;
    for (let asks = 1; ; asks += 1) {
      const client = await this.#writers.connect();
      try {
        // After a failover, the number may belong to another transaction.
        if ((await this.#prepare(client)) !== timeline) return false;
        const { rows } = await client.query('SELECT pg_xact_status($1::xid8) AS status', [xact]);
        const status = (rows[0] as { status: string | null } | undefined)?.status;
        if (status !== 'in progress' || asks === ASKS) return status === 'committed';
      } finally {
        client.release();
      }
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  }

  /** Prepares a connection for writing, once. Returns the timeline of the server behind it; null if the server does not tell. */
  async #prepare(client: PoolClient): Promise<string | null> {
    const known = this.#timelines.get(client);
    if (known !== undefined) return known;
    await client.query(SURVIVE_CRASHES);
    const timeline = await client.query(TIMELINE).then(
      ({ rows }) => String((rows[0] as { timeline: string }).timeline),
      (error) => {
        if (isUnknown(error)) throw error;
        return null;
      },
    );
    this.#timelines.set(client, timeline);
    return timeline;
  }
}

/** A commit must survive a crash of the server, even where the default of the server, the database or the role is `off`. */
const SURVIVE_CRASHES =
  "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";
const TIMELINE = 'SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) AS timeline';

/** Begins a transaction and returns the time of the ledger and the number of the transaction. */
async function begin(client: PoolClient, mode: Mode): Promise<{ at: number; xact: string }> {
  const sql =
    mode === 'reads'
      ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT _now() AS at, '' AS xact"
      : `BEGIN ISOLATION LEVEL READ COMMITTED; SELECT at, xact FROM _enter(${mode === 'owes'})`;
  const results = (await client.query(sql)) as unknown as { rows: { at: number; xact: string }[] }[];
  return results[1]?.rows[0] as { at: number; xact: string };
}

/** Whether an error leaves open what became of the statement: the connection ended, or the server ended it. */
function isUnknown(error: unknown): boolean {
  return !isOfServer(error) || /^(08|57P)/.test(error.code ?? '');
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
 * Settings of connections that write. Plans are not left to statistics, which are wrong for tables that are empty one minute and have a million
 * rows the next.
 */
export const WRITING = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};
