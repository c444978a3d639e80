import type { Transactions } from './transactions.ts';

/** Runs everything that was asked for since the last turn of the event loop, or since the last commit began, in one transaction. */
export class GroupCommit {
  readonly #transactions: Transactions;
  #waiting: Entry[] = [];
  #flushing: Promise<void> | undefined;

  constructor(transactions: Transactions) {
    this.#transactions = transactions;
  }

  /**
   * Resolves with what `work` returned, once the commit that carries it is on disk. When `work` throws, it alone is
   * undone and rejected; when the commit fails, everything in it is. `work` may be run twice, the first time undone: it
   * must leave nothing behind but in the ledger.
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

  /** Commits what is waiting, and resolves when nothing waits any more; never rejects. Undefined when nothing waits. */
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

  /** Almost always nothing throws, so nothing is spent on undoing one alone. */
  async #together(entries: readonly Entry[]): Promise<readonly (() => void)[]> {
    let current: Entry | undefined;
    try {
      return await this.#transactions.write(() => {
        const answers = entries.map((entry) => {
          current = entry;
          return entry.work();
        });
        current = undefined; // from here on it is the commit that may fail
        return answers;
      });
    } catch (error) {
      const guilty = current;
      if (guilty === undefined) return entries.map((entry) => () => entry.reject(error));
      const others = entries.filter((entry) => entry !== guilty);
      return [() => guilty.reject(error), ...(others.length > 0 ? await this.#eachAlone(others) : [])];
    }
  }

  /** The same once more in one commit, in which each can be undone alone. */
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
      if (!this.#transactions.open) throw error; // nothing before this entry is kept either
      return () => entry.reject(error);
    }
  }
}

interface Entry {
  /** Does the work, and gives the function that tells the caller of its success. */
  readonly work: () => () => void;
  readonly reject: (error: unknown) => void;
}
