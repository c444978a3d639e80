/** Runs tasks that share a name one after the other, and all other tasks concurrently. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` as soon as no earlier task with one of the names is running. Returns the result of `work`. */
  async take<Result>(names: readonly (string | undefined)[], work: () => Promise<Result>): Promise<Result> {
    const own = names.filter((name) => name !== undefined);
    const before = own.map((name) => this.#last.get(name));
    const running = Promise.allSettled(before).then(work);
    for (const name of own) this.#last.set(name, running);
    try {
      return await running;
    } finally {
      for (const name of own) if (this.#last.get(name) === running) this.#last.delete(name);
    }
  }
}
