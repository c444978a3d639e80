import type { ClientBase, Pool, PoolClient } from 'pg';
import { reach } from '../../../platform/process/failpoint.ts';
import { withinDeadline } from '../../../platform/time/deadline.ts';

/** How a transaction is run. */
export interface TransactionOptions {
  /** `TRY` writes, and takes it back once all that a commit would check has been checked. */
  readonly mode: 'READ ONLY' | 'READ WRITE' | 'TRY';
  /** For all of it, the connecting included, in ms. */
  readonly timeoutMs: number;
}

/**
 * Runs work in a transaction of its own: commits what it did when it resolves (unless it is a `TRY`), rolls back when it throws. When the time
 * is over or `stop` aborts, the connection is cut, and whether it was committed is not known.
 * @throws DeadlinePassed, the reason of `stop`, or what PostgreSQL or the work says
 */
export async function inTransaction<T>(
  pool: Pool,
  { mode, timeoutMs }: TransactionOptions,
  stop: AbortSignal,
  work: (client: ClientBase) => Promise<T>,
): Promise<T> {
  return withinDeadline(timeoutMs, stop, async (signal) => {
    const client = new PooledConnection(await pool.connect());
    const cut = () => client.release('broken');
    if (signal.aborted) cut();
    else signal.addEventListener('abort', cut, { once: true });
    try {
      await client.query(begin(mode === 'TRY' ? 'READ WRITE' : mode, timeoutMs));
      const result = await work(client.client);
      if (mode === 'READ WRITE') reach('postgres-commit');
      await client.query(mode === 'TRY' ? CHECK_AND_ROLL_BACK : 'COMMIT');
      if (mode === 'READ WRITE') reach('postgres-committed');
      client.release('good');
      return result;
    } catch (error) {
      await client.rollBack();
      throw error;
    } finally {
      signal.removeEventListener('abort', cut);
    }
  });
}

/** Only a commit checks constraints that are deferred. */
const CHECK_AND_ROLL_BACK = 'SET CONSTRAINTS ALL IMMEDIATE; ROLLBACK';

/** Sets what the work relies on, for this transaction alone: poolers may hand the connection to others afterwards. */
function begin(mode: string, timeoutMs: number): string {
  const ms = Math.ceil(timeoutMs);
  return `
    BEGIN ISOLATION LEVEL READ COMMITTED ${mode};
    SET LOCAL statement_timeout = ${ms};
    SET LOCAL lock_timeout = 0;
    SET LOCAL idle_in_transaction_session_timeout = ${ms};
    SET LOCAL timezone = 'UTC';
    -- What is reported as delivered must outlive a crash of the server, also where the server's own default is "off".
    SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`;
}

/** A connection from the pool, which is released exactly once. */
class PooledConnection {
  readonly client: PoolClient;
  #released = false;

  constructor(client: PoolClient) {
    this.client = client;
    client.on('error', brokenMeanwhile);
  }

  async query(sql: string): Promise<void> {
    await this.client.query(sql);
  }

  /** Rolls back, or closes the connection when that fails. */
  async rollBack(): Promise<void> {
    if (this.#released) return;
    try {
      await this.client.query('ROLLBACK');
      this.release('good');
    } catch {
      // Report the first failure, not this one. The server rolls back when the connection ends.
      this.release('broken');
    }
  }

  release(state: 'good' | 'broken'): void {
    if (this.#released) return;
    this.#released = true;
    // A broken connection may still emit an error.
    if (state === 'good') this.client.off('error', brokenMeanwhile);
    this.client.release(state === 'broken');
  }
}

/** Without a listener Node would end the process. The next query on the connection fails and says why. */
function brokenMeanwhile(): void {}
