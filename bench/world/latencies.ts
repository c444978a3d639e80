/** Measures the time of single leads from the last byte of the first listing with them to their arrival. */
export class Latencies {
  readonly #listedAt = new Map<number, number>();
  readonly #waiting = new Map<number, (latencyMs: number) => void>();

  /** Resolves when the lead has arrived, with the ms since the last byte of the first listing with it. */
  of(id: number): Promise<number> {
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
    });
  }

  /** Records that the last byte of a listing of the leads from `first` to `newest` was written at `at`. */
  listed(first: number, newest: number, at: number): void {
    for (const id of this.#waiting.keys())
      if (id >= first && id <= newest && !this.#listedAt.has(id)) this.#listedAt.set(id, at);
  }

  /** Records that a lead arrived at `at`. */
  arrived(id: number, at: number): void {
    const resolve = this.#waiting.get(id);
    if (resolve === undefined) return;
    // A lead cannot arrive before its listing is complete. NaN would show a fault of the benchmark.
    resolve(at - (this.#listedAt.get(id) ?? Number.NaN));
    this.#waiting.delete(id);
    this.#listedAt.delete(id);
  }
}
