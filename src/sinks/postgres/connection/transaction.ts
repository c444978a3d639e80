import type { ClientBase, Pool, PoolClient } from 'pg';
import { reach } from '../../../platform/process/failpoint.ts';
import { withinDeadline } from '../../../platform/time/deadline.ts';

/** Mode and deadline of a transaction. */
export interface TransactionOptions {
  /** `TRY` is a trial run: it writes, checks deferred constraints as a commit would, and always rolls back. */
  readonly mode: 'READ ONLY' | 'READ WRITE' | 'TRY';
  /** Maximum time for the whole transaction, including connecting, in ms. */
  readonly timeoutMs: number;
}

/**
 * Runs `work` in a transaction. Commits when `work` resolves, and rolls back when it throws. In mode `TRY`, checks the deferred constraints
 * and rolls back instead of committing, so no change remains. At the deadline, or when `stop` aborts, closes the connection; whether the
 * transaction was committed is then unknown.
 * @throws DeadlinePassed, the abort reason of `stop`, or the error from PostgreSQL or `work`
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

/** `SET CONSTRAINTS` checks the deferred constraints, which otherwise only a commit checks. */
const CHECK_AND_ROLL_BACK = 'SET CONSTRAINTS ALL IMMEDIATE; ROLLBACK';

/** Returns SQL that begins a transaction. Its settings are local, because a pooler may give the connection to other clients afterwards. */
function begin(mode: string, timeoutMs: number): string {
  const ms = Math.ceil(timeoutMs);
  return `
    BEGIN ISOLATION LEVEL READ COMMITTED ${mode};
    SET LOCAL statement_timeout = ${ms};
    SET LOCAL lock_timeout = 0;
    SET LOCAL idle_in_transaction_session_timeout = ${ms};
    SET LOCAL timezone = 'UTC';
    -- A delivered lead must survive a crash of the server, even where the server's default is "off".
    SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`;
}

/** A connection from the pool that is released exactly once. */
class PooledConnection {
  readonly client: PoolClient;
  #released = false;

  constructor(client: PoolClient) {
    this.client = client;
  }

  async query(sql: string): Promise<void> {
    await this.client.query(sql);
  }

  /** Rolls back, or closes the connection if that fails. */
  async rollBack(): Promise<void> {
    if (this.#released) return;
    try {
      await this.client.query('ROLLBACK');
      this.release('good');
    } catch {
      // Report the first failure, not this one. The server rolls back when the connection closes.
      this.release('broken');
    }
  }

  release(state: 'good' | 'broken'): void {
    if (this.#released) return;
    this.#released = true;
    this.client.release(state === 'broken');
  }
}
