/** Remembers how to close what was opened, and closes it all, last first, whatever fails on the way. */
export class Closers {
  readonly #closers: (() => void | Promise<void>)[] = [];

  /** To be called right after something was opened. */
  push(close: () => void | Promise<void>): void {
    this.#closers.push(close);
  }

  /** Gives what failed. A second call has nothing left to close. */
  async closeAll(): Promise<unknown[]> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    return failures;
  }
}
