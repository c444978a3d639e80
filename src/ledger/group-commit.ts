/** A transaction on the one connection that writes. */
export interface Transactor {
  /** Runs `work` in a transaction, or in a savepoint when one is open; a throw undoes exactly that. */
  transact(work: () => void): void;
  /** False once SQLite has undone the whole transaction by itself (a full disk, say). */
  readonly inTransaction: boolean;
}

/** Runs everything that was asked for since the last turn of the event loop in one transaction. */
export class GroupCommit {
  readonly #db: Transactor;
  #waiting: Entry[] = [];

  constructor(db: Transactor) {
    this.#db = db;
  }

  /**
   * Resolves with what `work` returned, once the commit that carries it is on disk. When `work` throws, it alone is
   * undone and rejected; when the commit fails, everything in it is.
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
    let answers: (() => void)[] = [];
    try {
      this.#db.transact(() => {
        answers = entries.map((entry) => this.#attempt(entry));
      });
    } catch (error) {
      answers = entries.map((entry) => () => entry.reject(error));
    }
    for (const answer of answers) answer();
  }

  #attempt(entry: Entry): () => void {
    let answer: (() => void) | undefined;
    try {
      this.#db.transact(() => {
        answer = entry.work();
      });
    } catch (error) {
      if (!this.#db.inTransaction) throw error; // nothing before this entry is kept either
      answer = () => entry.reject(error);
    }
    return answer as () => void;
  }
}

interface Entry {
  /** Does the work, and gives the function that tells the caller of its success. */
  readonly work: () => () => void;
  readonly reject: (error: unknown) => void;
}
