import type { Stopwatch } from '../../platform/time/stopwatch.ts';
import { LeaseOver } from '../../sinks/sink-unavailable.ts';

/**
 * Safety margin, in ms: nothing is sent in this last part of a lease. Must be smaller than the time by which a lease exceeds the attempt's
 * budget.
 */
const MARGIN_MS = 5_000;

/** The lease of one attempt, by the clock of this process. Needs no answer from the ledger, which may use another clock. */
export class AttemptLease {
  readonly #sinceLease: Stopwatch;
  readonly #forMs: number;
  #wasOver = false;

  /** `leasedForMs` counts from the start of `sinceLease`. */
  constructor(sinceLease: Stopwatch, leasedForMs: number) {
    this.#sinceLease = sinceLease;
    this.#forMs = leasedForMs - MARGIN_MS;
  }

  /** Whether a send was prevented because the lease had ended. */
  get wasOver(): boolean {
    return this.#wasOver;
  }

  /** Checks the lease. Call right before sending anything to the destination. @throws LeaseOver */
  readonly confirm = (): void => {
    if (this.#sinceLease.elapsedMs() < this.#forMs) return;
    this.#wasOver = true;
    throw new LeaseOver();
  };
}
