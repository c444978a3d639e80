import type Database from 'better-sqlite3';
import type { Clock } from '../../platform/time/clock.ts';
import { LedgerError, toLedgerError } from '../contract/ledger-error.ts';
import { GroupCommit } from './group-commit.ts';
import { Transactions, type WriteBehind } from './transactions.ts';

/** How what is asked of the ledger reaches its file. Whatever SQLite throws is thrown as a `LedgerError`. */
export class LedgerAccess {
  readonly transactions: Transactions;
  readonly #db: Database.Database;
  readonly #commits: GroupCommit;
  #failing: LedgerError | undefined;
  /** Never over: the file does not mend itself. */
  #damage: LedgerError | undefined;

  constructor(db: Database.Database, writeBehind: WriteBehind, clock: Clock) {
    this.#db = db;
    this.transactions = new Transactions(db, writeBehind, clock);
    this.#commits = new GroupCommit(this.transactions);
  }

  /** That the file is damaged, or what the last write failed of, until something has been recorded again. */
  failing(): LedgerError | undefined {
    return this.#damage ?? this.#failing;
  }

  /** Notes that the file is damaged, however that was found. */
  reportDamage(damage: LedgerError): void {
    this.#damage ??= damage;
  }

  /** Reads one state of the ledger, whatever others write meanwhile. */
  read<T>(work: () => T): Promise<T> {
    return this.guard(async () => this.transactions.read(work));
  }

  /** Writes in a commit that is shared with others, as `GroupCommit` says. */
  write<T>(work: () => T): Promise<T> {
    return this.noted(() => this.commit(work));
  }

  /** The same, without its failure being noted. */
  commit<T>(work: () => T): Promise<T> {
    return this.#commits.run(work);
  }

  /** Commits what waits for it, and resolves when nothing does any more. Undefined when nothing waits. */
  flush(): Promise<void> | undefined {
    return this.#commits.flush();
  }

  /** For what always writes something: that it works shows that the disk takes it again. */
  async recorded<T>(work: () => Promise<T>): Promise<T> {
    const result = await this.noted(work);
    this.#failing = undefined;
    return result;
  }

  /** For what writes, in transactions of its own: a failure that may pass is noted. */
  async noted<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.guard(work);
    } catch (error) {
      if (error instanceof LedgerError && error.isTransient) this.#failing = error;
      throw error;
    }
  }

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
