/** Something that is opened when it is first needed, once; again where that failed. Its package need not be loaded where nobody comes to need it. */
export class OnDemand<T> {
  readonly #open: () => Promise<T>;
  #opened: Promise<T> | undefined;
  #isClosed = false;

  constructor(open: () => Promise<T>) {
    this.#open = open;
  }

  /** @throws what opening it throws; Error when it was closed before it was ever needed */
  async get(): Promise<T> {
    if (this.#isClosed && !this.#opened) throw new Error('It was closed before it was opened.');
    this.#opened ??= this.#open().catch((error) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  /** Ends what was opened; nothing is opened from then on. */
  async close(end: (opened: T) => Promise<unknown>): Promise<void> {
    this.#isClosed = true;
    if (this.#opened) await end(await this.#opened);
  }
}
