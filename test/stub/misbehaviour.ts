/** One way to misbehave, as it is asked for. */
export interface Misbehaviour<Name extends string> {
  readonly name: Name;
  /** The Retry-After header of answers that carry one; theirs when absent. */
  readonly retryAfter?: string | undefined;
  /** How long answers that are slow take, in ms. */
  readonly delayMs?: number | undefined;
  /** In place of `delayMs`: answers that are slow wait for this. */
  readonly until?: Promise<unknown> | undefined;
}

/** What an endpoint will do wrong: each entry for so many requests, one after the other; the last may be for ever. */
export class Misbehaviours<Name extends string> {
  #queue: { misbehaviour: Misbehaviour<Name>; left: number }[] = [];

  /** @param times how many requests; until it is cleared when absent */
  add(misbehaviour: Misbehaviour<Name>, times = Number.POSITIVE_INFINITY): void {
    this.#queue.push({ misbehaviour, left: times });
  }

  clear(): void {
    this.#queue = [];
  }

  /** What to do wrong with the request that has just arrived; counts it. */
  next(): Misbehaviour<Name> | undefined {
    const head = this.#queue[0];
    if (head === undefined) return undefined;
    head.left--;
    if (head.left <= 0) this.#queue.shift();
    return head.misbehaviour;
  }
}
