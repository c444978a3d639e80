import type Database from 'better-sqlite3';
import type { Clock } from '../../platform/time/clock.ts';
import { BUSY_MS } from './ledger-file.ts';

/** Maximum pause between two attempts to take the write lock, in ms. It is short because whoever releases it may take it again soon. */
const RETRY_MS = 10;

/** A write-behind cache of one transaction: written before the commit, and dropped with the transaction. */
export interface WriteBehind {
  /** Writes the changed rows. */
  flush(): void;
  /** Drops everything, so that it is read again. */
  forget(): void;
}

/** The transactions of one connection. The write-behind cache never outlives one, so it cannot disagree with the disk. */
export class Transactions {
  readonly #db: Database.Database;
  readonly #writeBehind: WriteBehind;
  readonly #clock: Clock;
  readonly #sql;

  constructor(db: Database.Database, writeBehind: WriteBehind, clock: Clock) {
    this.#db = db;
    this.#writeBehind = writeBehind;
    this.#clock = clock;
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

  /** False as well once SQLite has undone the whole transaction by itself (a full disk, say). */
  get open(): boolean {
    return this.#db.inTransaction;
  }

  /**
   * Runs `work` in a transaction that writes. When the promise resolves, all of it is on disk; a throw undoes all of it.
   * While another process holds the write lock, nothing has begun and the event loop goes on.
   * @throws SqliteError SQLITE_BUSY when the lock is held for longer than `BUSY_MS`; `work` was not run
   */
  async write<T>(work: () => T): Promise<T> {
    const untilMs = this.#clock.monotonicMs() + BUSY_MS;
    for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, RETRY_MS)) {
      const busy = this.#takeLock();
      if (!busy) return this.#finish(work); // in the same turn, so that nothing comes between BEGIN and COMMIT
      if (this.#clock.monotonicMs() >= untilMs) throw busy;
      await this.#clock.sleep(pauseMs);
    }
  }

  /** Runs `work` on one state of the ledger, whatever others write meanwhile. */
  read<T>(work: () => T): T {
    this.#sql.beginReading.run();
    return this.#finish(work);
  }

  /** Runs `work` as a part of the open transaction: a throw undoes this part alone, unless SQLite has undone everything. */
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

  /** Gives the error when another process has the lock. Never waits: SQLite would wait on the thread of the event loop. */
  #takeLock(): unknown {
    this.#db.exec('PRAGMA busy_timeout = 0'); // exec() takes 3 µs, pragma() 40
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
