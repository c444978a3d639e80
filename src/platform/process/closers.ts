/** A stack of close functions. Calls all of them in reverse order, even if some fail. */
export class Closers {
  readonly #closers: (() => void | Promise<void>)[] = [];

  /** Adds a close function. Call it immediately after opening the resource. */
  push(close: () => void | Promise<void>): void {
    this.#closers.push(close);
  }

  /** Calls the close functions and returns their errors. A second call closes nothing. */
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
