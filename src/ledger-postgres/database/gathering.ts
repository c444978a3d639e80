import { LedgerError } from '../../ledger/contract/ledger-error.ts';

/** Maximum number of calls in one transaction. */
const MOST = 500;
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
export class Gathering<Call, Result> {
  readonly #write: (calls: readonly Call[]) => Promise<readonly Result[]>;
  readonly #running = new Set<Promise<void>>();
  #waiting: Waiting<Call, Result>[] = [];

  /** `write` makes all calls in one transaction, and returns their results in the same order. */
  constructor(write: (calls: readonly Call[]) => Promise<readonly Result[]>) {
    this.#write = write;
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
      const some = this.#waiting.splice(0, MOST);
      const running = this.#together(some).finally(() => {
        this.#running.delete(running);
        this.#start();
      });
      this.#running.add(running);
    }
  }

  /** Makes the calls in one transaction. If it fails because of one of them, makes each in a transaction of its own. */
  async #together(some: readonly Waiting<Call, Result>[]): Promise<void> {
    try {
      const results = await this.#write(some.map(({ call }) => call));
      for (const [index, { resolve }] of some.entries()) resolve(results[index] as Result);
    } catch (error) {
      const isOfAll = some.length === 1 || (error instanceof LedgerError && error.isTransient);
      if (isOfAll) for (const { reject } of some) reject(error);
      else for (const one of some) await this.#together([one]);
    }
  }
}
