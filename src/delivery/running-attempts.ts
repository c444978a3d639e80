import type { BatchRef } from '../leads/delivery.ts';
import type { Clock } from '../platform/clock.ts';
import type { AttemptBatch } from './carrier.ts';

/** How long attempts that were aborted may take to notice, in ms. */
const ABORT_MS = 1_000;

/** The attempts under way in this process: each lease once, and all of them ended when the process has to stop. */
export class RunningAttempts {
  readonly #attempt: AttemptBatch;
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #running = new Map<string, Promise<void>>();
  #stopping = false;

  constructor(attempt: AttemptBatch, clock: Clock) {
    this.#attempt = attempt;
    this.#clock = clock;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Starts an attempt, unless it runs already or no more are started: then the batch is offered again later. */
  start(ref: BatchRef): Promise<void> {
    const key = `${ref.batch}-${ref.lease}`;
    const running = this.#running.get(key);
    if (running || this.#stopping) return running ?? Promise.resolve();
    const run = this.#attempt(ref, this.#abort.signal).finally(() => this.#running.delete(key));
    this.#running.set(key, run);
    return run;
  }

  /** Starts no more, gives those under way `graceMs` to end, then aborts them. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    await this.#ended(graceMs);
    this.#abort.abort();
    await this.#ended(ABORT_MS);
  }

  async #ended(withinMs: number): Promise<void> {
    if (this.#running.size === 0) return;
    const enough = new AbortController();
    await Promise.race([
      Promise.allSettled(this.#running.values()),
      this.#clock.sleep(withinMs, enough.signal),
    ]);
    enough.abort();
  }
}
