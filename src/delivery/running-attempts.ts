import type { BatchRef } from '../leads/delivery.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { AttemptBatch } from './carrier.ts';

/** How long attempts that were aborted may take to notice and to give their leases back, in ms. */
const ABORT_MS = 1_500;

/** The attempts under way in this process: each lease once, and all of them ended when the process has to stop. */
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

  /** How many attempts of a sink began here so far, those that run already included, and how many are under way. */
  of(sink: string): Readonly<{ begun: number; underWay: number }> {
    return this.#countOf(sink);
  }

  /** The leases of those that are under way. */
  leases(): readonly number[] {
    return [...this.#running.values()].map(({ lease }) => lease);
  }

  /** Starts an attempt, unless it runs already or no more are started: then the batch is offered again later. */
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

  /** Starts no more, gives those under way `graceMs` to end, then aborts them. */
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
