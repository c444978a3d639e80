import type { Connection } from 'mysql2';
import { reach } from '../../../platform/process/failpoint.ts';
import { withinDeadline } from '../../../platform/time/deadline.ts';
import type { Pool, Taken } from './pool.ts';
import { type Greeting, query, type Session, sessionOver } from './session.ts';

/** Mode and deadline of a transaction. */
export interface TransactionOptions {
  /** `TRY` is a trial run: it writes and always rolls back. Tables and columns that it creates remain. */
  readonly mode: 'READ ONLY' | 'READ WRITE' | 'TRY';
  /** Maximum time for the whole transaction, including connecting, in ms. */
  readonly timeoutMs: number;
  /** Called with what the server reports about itself and the user. */
  readonly greeted: (greeting: Greeting) => void;
}

/**
 * Runs `work` in a transaction. Commits when `work` resolves, and rolls back when it throws. At the deadline, or when `stop` aborts, closes
 * the connection; whether the transaction was committed is then unknown.
 * @throws DeadlinePassed, the abort reason of `stop`, or the error from the server, the connection or `work`
 */
export async function inTransaction<T>(
  pool: Pool,
  options: TransactionOptions,
  stop: AbortSignal,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const { mode, timeoutMs } = options;
  return withinDeadline(timeoutMs, stop, async (signal) => {
    const { taken, session } = await begin(pool, options, signal);
    const cut = () => taken.destroy();
    if (signal.aborted) cut();
    else signal.addEventListener('abort', cut, { once: true });
    try {
      const result = await work(session);
      if (mode === 'READ WRITE') reach('mysql-commit');
      await query(taken.connection, mode === 'TRY' ? 'ROLLBACK' : 'COMMIT');
      if (mode === 'READ WRITE') reach('mysql-committed');
      taken.release();
      return result;
    } catch (error) {
      await rollBack(taken);
      throw error;
    } finally {
      signal.removeEventListener('abort', cut);
    }
  });
}

/**
 * Takes a connection and begins the transaction. Replaces an idle connection that turns out to be broken, for example because the server
 * closed it after `wait_timeout`. This is safe, because no lead was sent over it.
 */
async function begin(
  pool: Pool,
  options: TransactionOptions,
  signal: AbortSignal,
): Promise<{ taken: Taken; session: Session }> {
  for (;;) {
    const taken = await pool.take(signal);
    const cut = () => taken.destroy();
    signal.addEventListener('abort', cut, { once: true });
    try {
      const greeting = await greet(taken.connection, options);
      options.greeted(greeting);
      return { taken, session: sessionOver(taken.connection, greeting) };
    } catch (error) {
      taken.destroy();
      if (taken.isNew || signal.aborted) throw error;
    } finally {
      signal.removeEventListener('abort', cut);
    }
  }
}

/**
 * Sets up the session and begins the transaction. Sets everything each time, because a proxy may give each transaction another connection to
 * the server. Strict mode makes the server refuse a value that it would otherwise truncate.
 */
async function greet(connection: Connection, { mode, timeoutMs }: TransactionOptions): Promise<Greeting> {
  const seconds = Math.max(1, Math.ceil(timeoutMs / 1_000));
  await query(connection, 'SET NAMES utf8mb4');
  await query(
    connection,
    `SET SESSION sql_mode = '${SQL_MODE}', SESSION time_zone = '+00:00', SESSION autocommit = 1,
      SESSION foreign_key_checks = 1, SESSION unique_checks = 1,
      SESSION innodb_lock_wait_timeout = ${seconds}, SESSION lock_wait_timeout = ${seconds},
      SESSION wait_timeout = GREATEST(@@SESSION.wait_timeout, ${seconds})`,
  );
  const [found = {}] = await query(
    connection,
    'SELECT @@max_allowed_packet AS packet, VERSION() AS version, CURRENT_USER() AS account',
  );
  await query(connection, 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED');
  await query(connection, mode === 'READ ONLY' ? 'START TRANSACTION READ ONLY' : 'START TRANSACTION');
  return {
    maxPacketBytes: Number(found['packet']),
    isMariaDb: /mariadb/i.test(String(found['version'])),
    account: accountName(String(found['account'])),
  };
}

const SQL_MODE = [
  'STRICT_TRANS_TABLES',
  'STRICT_ALL_TABLES',
  'NO_ZERO_IN_DATE',
  'NO_ZERO_DATE',
  'ERROR_FOR_DIVISION_BY_ZERO',
  'NO_ENGINE_SUBSTITUTION',
].join(',');

/** Returns `user@host` as `'user'@'host'`. A user name may contain @, but a host name cannot. */
function accountName(account: string): string {
  const at = account.lastIndexOf('@');
  return `'${account.slice(0, at).replaceAll("'", "''")}'@'${account.slice(at + 1)}'`;
}

/** Rolls back, or closes the connection if that fails. The caller reports the first failure. */
async function rollBack(taken: Taken): Promise<void> {
  try {
    await query(taken.connection, 'ROLLBACK');
    taken.release();
  } catch {
    taken.destroy();
  }
}
