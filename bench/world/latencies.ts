/** Times single leads from the last byte of the first listing that had them to their arrival. */
export class Latencies {
  readonly #listedAt = new Map<number, number>();
  readonly #waiting = new Map<number, (latencyMs: number) => void>();

  /** Resolves when the lead has arrived, with the ms that it took since it was listed to the end. */
  of(id: number): Promise<number> {
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
    });
  }

  /** The last byte of a listing of the leads from `first` to `newest` was written at `at`. */
  listed(first: number, newest: number, at: number): void {
    for (const id of this.#waiting.keys())
      if (id >= first && id <= newest && !this.#listedAt.has(id)) this.#listedAt.set(id, at);
  }

  arrived(id: number, at: number): void {
    const resolve = this.#waiting.get(id);
    if (resolve === undefined) return;
    // Nobody can know of a lead before it is listed to the end; one that did would be a fault of the benchmark.
    resolve(at - (this.#listedAt.get(id) ?? Number.NaN));
    this.#waiting.delete(id);
    this.#listedAt.delete(id);
  }
}
