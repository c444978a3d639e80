import type Database from 'better-sqlite3';

/** What is kept in memory while a transaction is open: written with it, and forgotten with it. */
export interface Held {
  /** Writes what was changed. */
  flush(): void;
  /** Forgets everything: it is read anew. */
  forget(): void;
}

/** The transactions of one connection. What `held` keeps in memory never outlives one, so it cannot disagree with the disk. */
export class Transactions {
  readonly #db: Database.Database;
  readonly #held: Held;
  readonly #sql;

  constructor(db: Database.Database, held: Held) {
    this.#db = db;
    this.#held = held;
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

  /** Runs `work` in a transaction that writes. When it returns, all of it is on disk; a throw undoes all of it. */
  write<T>(work: () => T): T {
    return this.#run(this.#sql.begin, work);
  }

  /** Runs `work` on one state of the ledger, whatever others write meanwhile. */
  read<T>(work: () => T): T {
    return this.#run(this.#sql.beginReading, work);
  }

  /** Runs `work` as a part of the open transaction: a throw undoes this part alone, unless SQLite has undone everything. */
  part<T>(work: () => T): T {
    this.#sql.savepoint.run();
    try {
      const result = work();
      this.#held.flush();
      this.#sql.release.run();
      return result;
    } catch (error) {
      this.#held.forget();
      if (this.#db.inTransaction) {
        this.#sql.rollbackTo.run();
        this.#sql.release.run();
      }
      throw error;
    }
  }

  #run<T>(begin: Database.Statement, work: () => T): T {
    begin.run();
    try {
      const result = work();
      this.#held.flush();
      this.#sql.commit.run();
      return result;
    } catch (error) {
      if (this.#db.inTransaction) this.#sql.rollback.run();
      throw error;
    } finally {
      this.#held.forget();
    }
  }
}
