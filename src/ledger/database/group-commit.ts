import type { Transactions } from './transactions.ts';

/** Collects the work that arrives in one turn of the event loop, or during a commit, and runs it in one transaction. */
export class GroupCommit {
  readonly #transactions: Transactions;
  #waiting: Entry[] = [];
  #flushing: Promise<void> | undefined;

  constructor(transactions: Transactions) {
    this.#transactions = transactions;
  }

  /**
   * Runs `work`, and resolves with the result of `work` once the commit that contains it is on disk. If `work` throws, only its own changes
   * are rolled back. If the commit fails, the changes of all work in that commit are rolled back. `work` may be rolled back and run a
   * second time, so it must have no side effects outside the ledger.
   */
  run<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => void this.flush());
      this.#waiting.push({
        work: () => {
          const result = work();
          return () => resolve(result);
        },
        reject,
      });
    });
  }

  /** Commits the queued work, and resolves when none is left. Never rejects. Returns undefined if no work is queued and no commit is in progress. */
  flush(): Promise<void> | undefined {
    if (this.#waiting.length === 0) return this.#flushing;
    this.#flushing ??= this.#flushAll().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async #flushAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const entries = this.#waiting;
      this.#waiting = [];
      for (const answer of await this.#together(entries)) answer();
    }
  }

  /**
   * Runs the entries in one transaction without savepoints, because an entry hardly ever throws. If one throws, runs the others again, each
   * in its own savepoint. Returns the functions that settle the callers' promises.
   */
  async #together(entries: readonly Entry[]): Promise<readonly (() => void)[]> {
    let current: Entry | undefined;
    try {
      return await this.#transactions.write(() => {
        const answers = entries.map((entry) => {
          current = entry;
          return entry.work();
        });
        current = undefined; // from here on only the commit can fail
        return answers;
      });
    } catch (error) {
      const guilty = current;
      if (guilty === undefined) return entries.map((entry) => () => entry.reject(error));
      const others = entries.filter((entry) => entry !== guilty);
      return [() => guilty.reject(error), ...(others.length > 0 ? await this.#eachAlone(others) : [])];
    }
  }

  /** Runs the entries again in one commit, each in its own savepoint. */
  async #eachAlone(entries: readonly Entry[]): Promise<readonly (() => void)[]> {
    try {
      return await this.#transactions.write(() => entries.map((entry) => this.#alone(entry)));
    } catch (error) {
      return entries.map((entry) => () => entry.reject(error));
    }
  }

  #alone(entry: Entry): () => void {
    try {
      return this.#transactions.part(entry.work);
    } catch (error) {
      if (!this.#transactions.open) throw error; // the entries before this one are rolled back as well
      return () => entry.reject(error);
    }
  }
}

interface Entry {
  /** Does the work, and returns a function that resolves the caller's promise. */
  readonly work: () => () => void;
  readonly reject: (error: unknown) => void;
}
