import type { BatchRef } from '../leads/delivery.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { AttemptBatch } from './carrier.ts';

/** Maximum time for aborted attempts to end and to release their leases, in ms. */
const ABORT_MS = 1_500;

/**
 * The running attempts of this process. Never runs two attempts under the same lease at the same time, and ends all attempts when the
 * process stops.
 */
export class RunningAttempts {
  readonly #attempt: AttemptBatch;
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #running = new Map<string, { readonly lease: number; readonly run: Promise<void> }>();
  readonly #counts = new Map<string, { begun: number; underWay: number }>();
  #stopping = false;

  constructor(attempt: AttemptBatch, clock: Clock) {
    this.#attempt = attempt;
    this.#clock = clock;
  }

  /**
   * Returns `begun`, the number of calls of `start` for a sink, even for attempts that were already running, and `underWay`, the number of the sink's
   * running attempts.
   */
  of(sink: string): Readonly<{ begun: number; underWay: number }> {
    return this.#countOf(sink);
  }

  /** Returns the leases of the running attempts. */
  leases(): readonly number[] {
    return [...this.#running.values()].map(({ lease }) => lease);
  }

  /**
   * Starts an attempt, and resolves when it has ended. Starts nothing if the attempt is already running, or after `stop`: dispatch then
   * offers the batch again later.
   */
  start(ref: BatchRef): Promise<void> {
    const key = `${ref.batch}-${ref.lease}`;
    const count = this.#countOf(ref.sink);
    count.begun += 1;
    const running = this.#running.get(key);
    if (running || this.#stopping) return running?.run ?? Promise.resolve();
    count.underWay += 1;
    const run = this.#attempt(ref, this.#abort.signal).finally(() => {
      this.#running.delete(key);
      count.underWay -= 1;
    });
    this.#running.set(key, { lease: ref.lease, run });
    return run;
  }

  /** Starts no more attempts. Waits up to `graceMs` for the running ones, then aborts them. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    await this.#ended(graceMs);
    this.#abort.abort();
    await this.#ended(ABORT_MS);
  }

  #countOf(sink: string): { begun: number; underWay: number } {
    const count = this.#counts.get(sink) ?? { begun: 0, underWay: 0 };
    this.#counts.set(sink, count);
    return count;
  }

  async #ended(withinMs: number): Promise<void> {
    if (this.#running.size === 0) return;
    const enough = new AbortController();
    await Promise.race([
      Promise.allSettled([...this.#running.values()].map(({ run }) => run)),
      this.#clock.sleep(withinMs, enough.signal),
    ]);
    enough.abort();
  }
}
