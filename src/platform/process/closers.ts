/** A stack of close functions. Closes everything in reverse order, even if some of them fail. */
export class Closers {
  readonly #closers: (() => void | Promise<void>)[] = [];

  /** Adds a close function. Call it immediately after opening the resource. */
  push(close: () => void | Promise<void>): void {
    this.#closers.push(close);
  }

  /** Closes everything and returns the errors. A second call closes nothing. */
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
