import type Database from 'better-sqlite3';

/** Time without a commit after which the ledger counts as idle, in ms. */
const IDLE_MS = 50;
/** Minimum time between two checkpoints, in ms. */
const BETWEEN_MS = 1_000;

/**
 * Copies the write-ahead log into the database file while the ledger is idle. SQLite does so itself in the commit that makes the log longer
 * than 1,000 pages, and that commit then takes 20 to 40 ms longer: too long if a new lead waits for it. Under continuous load the ledger is
 * never idle, and SQLite's own checkpoints keep the log short.
 */
export class IdleCheckpoint {
  readonly #db: Database.Database;
  #timer: NodeJS.Timeout | undefined;
  #committedAt = 0;
  #checkpointAt = 0;

  constructor(db: Database.Database) {
    this.#db = db;
  }

  /** Schedules a checkpoint. Call it after each commit. The schedule does not keep the process alive. */
  committed(): void {
    this.#committedAt = performance.now();
    this.#timer ??= setTimeout(() => this.#fire(), IDLE_MS).unref();
  }

  #fire(): void {
    this.#timer = undefined;
    if (!this.#db.open) return;
    const now = performance.now();
    const waitMs = Math.max(this.#committedAt + IDLE_MS, this.#checkpointAt + BETWEEN_MS) - now;
    if (waitMs > 0 || this.#db.inTransaction) {
      this.#timer = setTimeout(() => this.#fire(), Math.max(waitMs, IDLE_MS)).unref();
      return;
    }
    this.#checkpoint();
    this.#checkpointAt = performance.now();
  }

  #checkpoint(): void {
    try {
      this.#db.pragma('wal_checkpoint(PASSIVE)');
    } catch {
      // The log stays as it is. If the disk is the cause, the next commit reports it.
    }
  }
}
