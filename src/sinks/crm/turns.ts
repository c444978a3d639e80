/** Runs works one after the other, in the order in which they are given. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs a work once those before it have ended, however they ended. Returns what it returns. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work, work);
    this.#last = result;
    return result;
  }
}
