import type Database from 'better-sqlite3';
import type { Clock } from '../../platform/time/clock.ts';
import { LedgerError, toLedgerError } from '../contract/ledger-error.ts';
import { GroupCommit } from './group-commit.ts';
import { Transactions, type WriteBehind } from './transactions.ts';

/** Runs the ledger's reads and writes, and converts SQLite's errors to `LedgerError`. */
export class LedgerAccess {
  readonly transactions: Transactions;
  readonly #db: Database.Database;
  readonly #commits: GroupCommit;
  #failing: LedgerError | undefined;
  /** Never cleared: a damaged file does not repair itself. */
  #damage: LedgerError | undefined;

  constructor(db: Database.Database, writeBehind: WriteBehind, clock: Clock) {
    this.#db = db;
    this.transactions = new Transactions(db, writeBehind, clock);
    this.#commits = new GroupCommit(this.transactions);
  }

  /**
   * Returns the damage to the file. If the file is not damaged, returns the last transient error that `trackFailure` caught, until
   * `trackRecovery` clears it. Undefined if there is neither.
   */
  failing(): LedgerError | undefined {
    return this.#damage ?? this.#failing;
  }

  /** Records that the file is damaged. */
  reportDamage(damage: LedgerError): void {
    this.#damage ??= damage;
  }

  /** Runs `work` on one snapshot of the ledger. */
  read<T>(work: () => T): Promise<T> {
    return this.guard(async () => this.transactions.read(work));
  }

  /** Runs `work` in a commit that it shares with other work (see `GroupCommit`). If `work` fails, tracks the failure. */
  write<T>(work: () => T): Promise<T> {
    return this.trackFailure(() => this.commit(work));
  }

  /** Like `write`, but does not track failures. */
  commit<T>(work: () => T): Promise<T> {
    return this.#commits.run(work);
  }

  /** Commits the queued work, and resolves when none is left. Returns undefined if no work is queued and no commit is in progress. */
  flush(): Promise<void> | undefined {
    return this.#commits.flush();
  }

  /** Like `trackFailure`, but for work that always writes. If the work succeeds, clears an earlier failure, because the disk accepts writes again. */
  async trackRecovery<T>(work: () => Promise<T>): Promise<T> {
    const result = await this.trackFailure(work);
    this.#failing = undefined;
    return result;
  }

  /** Runs work that has its own transactions. If the work fails with a transient error, `failing` returns that error. */
  async trackFailure<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.guard(work);
    } catch (error) {
      if (error instanceof LedgerError && error.isTransient) this.#failing = error;
      throw error;
    }
  }

  /** Runs `work`. @throws LedgerError in place of SQLite's errors */
  async guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#explained(error);
    }
  }

  #explained(error: unknown): LedgerError {
    const explained = toLedgerError(error, this.#db.name);
    if (explained.code === 'damaged') this.reportDamage(explained);
    return explained;
  }
}
