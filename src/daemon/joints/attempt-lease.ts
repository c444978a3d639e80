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
  readonly #isAliveSince: (since: Stopwatch) => boolean;
  #wasOver = false;

  /**
   * `leasedForMs` counts from the start of `sinceLease`. `isAliveSince` says whether no other process can have taken this one for dead since then, and
   * ended the lease.
   */
  constructor(
    sinceLease: Stopwatch,
    leasedForMs: number,
    isAliveSince: (since: Stopwatch) => boolean = () => true,
  ) {
    this.#sinceLease = sinceLease;
    this.#forMs = leasedForMs - MARGIN_MS;
    this.#isAliveSince = isAliveSince;
  }

  /** Whether a send was prevented because the lease had ended. */
  get wasOver(): boolean {
    return this.#wasOver;
  }

  /** Checks the lease. Call right before sending anything to the destination. @throws LeaseOver */
  readonly confirm = (): void => {
    if (this.#sinceLease.elapsedMs() < this.#forMs && this.#isAliveSince(this.#sinceLease)) return;
    this.#wasOver = true;
    throw new LeaseOver();
  };
}
