/** One misbehaviour, as requested. */
export interface Misbehaviour<Name extends string> {
  readonly name: Name;
  /** The Retry-After header of answers that carry one; their own value if absent. */
  readonly retryAfter?: string | undefined;
  /** The delay of slow answers, in ms. */
  readonly delayMs?: number | undefined;
  /** Replaces `delayMs`: slow answers wait for this promise. */
  readonly until?: Promise<unknown> | undefined;
}

/** The queue of misbehaviours of an endpoint: each applies to a number of requests, one after the other; the last may have no end. */
export class Misbehaviours<Name extends string> {
  #queue: { misbehaviour: Misbehaviour<Name>; left: number }[] = [];

  /** @param times number of requests; until the queue is cleared if absent */
  add(misbehaviour: Misbehaviour<Name>, times = Number.POSITIVE_INFINITY): void {
    this.#queue.push({ misbehaviour, left: times });
  }

  clear(): void {
    this.#queue = [];
  }

  /** Returns the misbehaviour for the request that has just arrived, and counts the request. */
  next(): Misbehaviour<Name> | undefined {
    const head = this.#queue[0];
    if (head === undefined) return undefined;
    head.left--;
    if (head.left <= 0) this.#queue.shift();
    return head.misbehaviour;
  }
}
