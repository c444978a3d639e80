import type Database from 'better-sqlite3';
import type { Clock } from '../../platform/time/clock.ts';
import { IdleCheckpoint } from './idle-checkpoint.ts';
import { BUSY_MS } from './ledger-file.ts';

/**
 * Maximum pause between two attempts to take the write lock, in ms. Short, because the process that releases the lock may soon take it
 * again.
 */
const RETRY_MS = 10;

/** A write-behind cache of one transaction. It is written before the commit and dropped when the transaction ends. */
export interface WriteBehind {
  /** Writes the changed rows. */
  flush(): void;
  /** Drops all rows, so that they are read again. */
  forget(): void;
}

/** The transactions of one connection. The write-behind cache never outlives a transaction, so it cannot disagree with the disk. */
export class Transactions {
  readonly #db: Database.Database;
  readonly #writeBehind: WriteBehind;
  readonly #clock: Clock;
  readonly #checkpoint: IdleCheckpoint;
  readonly #sql;

  constructor(db: Database.Database, writeBehind: WriteBehind, clock: Clock) {
    this.#db = db;
    this.#writeBehind = writeBehind;
    this.#clock = clock;
    this.#checkpoint = new IdleCheckpoint(db);
    this.#sql = {
      begin: db.prepare('BEGIN IMMEDIATE'),
      beginReading: db.prepare('BEGIN'),
      commit: db.prepare('COMMIT'),
      rollback: db.prepare('ROLLBACK'),
      savepoint: db.prepare('SAVEPOINT part'),
      release: db.prepare('RELEASE part'),
      rollbackTo: db.prepare('ROLLBACK TO part'),
    };
  }

  /** Whether a transaction is open. False after SQLite rolled it back by itself, for example because the disk was full. */
  get open(): boolean {
    return this.#db.inTransaction;
  }

  /**
   * Runs `work` in a write transaction. When the promise resolves, all changes are on disk. If `work` throws, all its changes are rolled
   * back. Does not block the event loop while another process holds the write lock.
   * @throws SqliteError SQLITE_BUSY if another process holds the lock for longer than `BUSY_MS`; `work` has then not run
   */
  async write<T>(work: () => T): Promise<T> {
    const untilMs = this.#clock.monotonicMs() + BUSY_MS;
    for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, RETRY_MS)) {
      const busy = this.#takeLock();
      if (!busy) {
        const result = this.#finish(work); // in the same turn of the event loop, because nothing else may run between BEGIN and COMMIT
        this.#checkpoint.committed();
        return result;
      }
      if (this.#clock.monotonicMs() >= untilMs) throw busy;
      await this.#clock.sleep(pauseMs);
    }
  }

  /** Runs `work` on one snapshot of the ledger. */
  read<T>(work: () => T): T {
    this.#sql.beginReading.run();
    return this.#finish(work);
  }

  /** Runs `work` in a savepoint. If `work` throws, rolls back to the savepoint, unless SQLite has rolled back the whole transaction. */
  part<T>(work: () => T): T {
    this.#sql.savepoint.run();
    try {
      const result = work();
      this.#writeBehind.flush();
      this.#sql.release.run();
      return result;
    } catch (error) {
      this.#writeBehind.forget();
      if (this.#db.inTransaction) {
        this.#sql.rollbackTo.run();
        this.#sql.release.run();
      }
      throw error;
    }
  }

  /** Begins a transaction. Returns SQLite's error if another process has the lock. Does not wait: SQLite would block the event loop. */
  #takeLock(): unknown {
    this.#db.exec('PRAGMA busy_timeout = 0'); // exec() takes 3 µs, pragma() takes 40 µs
    try {
      this.#sql.begin.run();
      return undefined;
    } catch (error) {
      if (isBusy(error)) return error;
      throw error;
    } finally {
      this.#db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    }
  }

  #finish<T>(work: () => T): T {
    try {
      const result = work();
      this.#writeBehind.flush();
      this.#sql.commit.run();
      return result;
    } catch (error) {
      if (this.#db.inTransaction) this.#sql.rollback.run();
      throw error;
    } finally {
      this.#writeBehind.forget();
    }
  }
}

function isBusy(error: unknown): boolean {
  return String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY');
}
