import type { Transactions } from './transactions.ts';

/** Runs everything that was asked for since the last turn of the event loop in one transaction. */
export class GroupCommit {
  readonly #transactions: Transactions;
  #waiting: Entry[] = [];

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
      if (this.#waiting.length === 0) setImmediate(() => this.flush());
      this.#waiting.push({
        work: () => {
          const result = work();
          return () => resolve(result);
        },
        reject,
      });
    });
  }

  /** Commits now what is waiting. */
  flush(): void {
    const entries = this.#waiting;
    if (entries.length === 0) return;
    this.#waiting = [];
    for (const answer of this.#together(entries)) answer();
  }

  /** Almost always nothing throws, so nothing is spent on undoing one alone. */
  #together(entries: readonly Entry[]): readonly (() => void)[] {
    let current: Entry | undefined;
    try {
      return this.#transactions.write(() => {
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
      return [() => guilty.reject(error), ...(others.length > 0 ? this.#eachAlone(others) : [])];
    }
  }

  /** The same once more in one commit, in which each can be undone alone. */
  #eachAlone(entries: readonly Entry[]): readonly (() => void)[] {
    try {
      return this.#transactions.write(() => entries.map((entry) => this.#alone(entry)));
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
