/**
 * A resource that is opened once, at its first use. If opening fails, the next use tries again. Code that is imported by `open` alone is
 * not loaded before the first use.
 */
export class LazyResource<T> {
  readonly #open: () => Promise<T>;
  #opened: Promise<T> | undefined;
  #isClosed = false;

  constructor(open: () => Promise<T>) {
    this.#open = open;
  }

  /** Opens the resource if necessary and returns it. @throws the error from opening it, or Error if `close` was called before the first use */
  async get(): Promise<T> {
    if (this.#isClosed && !this.#opened) throw new Error('It was closed before it was opened.');
    this.#opened ??= this.#open().catch((error) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  /** Closes the resource with `end` if it is open. Afterwards `get` no longer opens the resource. */
  async close(end: (opened: T) => Promise<unknown>): Promise<void> {
    this.#isClosed = true;
    if (this.#opened) await end(await this.#opened);
  }
}
