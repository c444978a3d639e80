import { LedgerError } from '../../ledger/contract/ledger-error.ts';

/** Maximum size of one transaction: the sum of the sizes of its calls. A larger call is made alone. */
const MOST = 500;
/** Number of calls in a row that may fail, each in a transaction of its own, before those after them fail too. */
const MOST_FAILURES = 2;
/** Maximum number of transactions at a time: while one waits for its commit, the server works on the other. */
const AT_ONCE = 2;

interface Waiting<Call, Result> {
  readonly call: Call;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Collects calls that arrive in one turn of the event loop, or while others are being written, and writes them in one transaction. On an idle
 * ledger, a call waits for no other.
 */
export class GroupCommit<Call, Result> {
  readonly #write: (calls: readonly Call[]) => Promise<readonly Result[]>;
  readonly #sizeOf: (call: Call) => number;
  readonly #running = new Set<Promise<unknown>>();
  #waiting: Waiting<Call, Result>[] = [];

  /** `write` makes all calls in one transaction, and returns their results in the same order. `sizeOf` returns how much a call writes. */
  constructor(write: (calls: readonly Call[]) => Promise<readonly Result[]>, sizeOf: (call: Call) => number) {
    this.#write = write;
    this.#sizeOf = sizeOf;
  }

  /** Makes a call. Resolves with its result once the transaction that contains it is committed. */
  run(call: Call): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#start());
      this.#waiting.push({ call, resolve, reject });
    });
  }

  /** Resolves when no call is waiting or being made. Never rejects. */
  async ended(): Promise<void> {
    this.#start();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #start(): void {
    while (this.#waiting.length > 0 && this.#running.size < AT_ONCE) {
      const some = this.#waiting.splice(0, this.#countOfNext());
      const running = this.#together(some).finally(() => {
        this.#running.delete(running);
        this.#start();
      });
      this.#running.add(running);
    }
  }

  /** Returns how many of the waiting calls the next transaction makes. */
  #countOfNext(): number {
    let size = 0;
    const end = this.#waiting.findIndex(({ call }, index) => {
      size += this.#sizeOf(call);
      return index > 0 && size > MOST;
    });
    return end === -1 ? this.#waiting.length : end;
  }

  /**
   * Makes the calls in one transaction. If that fails, perhaps because of one of them, makes each in a transaction of its own: one may be wrong, or wait
   * for a lock that the others do not need. Returns the error if the calls may succeed later.
   */
  async #together(some: readonly Waiting<Call, Result>[]): Promise<LedgerError | undefined> {
    try {
      const results = await this.#write(some.map(({ call }) => call));
      for (const [index, { resolve }] of some.entries()) resolve(results[index] as Result);
      return undefined;
    } catch (error) {
      const passing = error instanceof LedgerError && error.isTransient ? error : undefined;
      const isOfAll = some.length === 1 || (passing !== undefined && passing.code !== 'busy');
      if (!isOfAll) return this.#apart(some);
      for (const { reject } of some) reject(error);
      return passing;
    }
  }

  /** Makes each call in a transaction of its own, until several in a row fail in a way that will pass: then all would. */
  async #apart(some: readonly Waiting<Call, Result>[]): Promise<undefined> {
    let failures = 0;
    for (const [index, one] of some.entries()) {
      const error = await this.#together([one]);
      failures = error ? failures + 1 : 0;
      if (failures < MOST_FAILURES) continue;
      for (const { reject } of some.slice(index + 1)) reject(error);
      return;
    }
  }
}
