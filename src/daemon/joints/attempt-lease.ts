import type { Clock } from '../../platform/time/clock.ts';
import { LeaseOver } from '../../sinks/sink-unavailable.ts';

/**
 * Safety margin, in ms: nothing is sent in this last part of a lease. Must be smaller than the time by which a lease exceeds the attempt's
 * budget.
 */
const MARGIN_MS = 5_000;

/**
 * The lease of one attempt, as its process knows it without asking the ledger. Compares both clocks: only the wall clock advances while
 * the machine is suspended, and only the monotonic clock cannot be set back. Both advance while the process is frozen.
 */
export class AttemptLease {
  readonly #clock: Clock;
  readonly #untilMs: number;
  readonly #untilMonotonicMs: number;
  #wasOver = false;

  /** Call immediately after the ledger has returned `leasedUntil`. */
  constructor(clock: Clock, leasedUntil: Date) {
    this.#clock = clock;
    this.#untilMs = leasedUntil.getTime() - MARGIN_MS;
    this.#untilMonotonicMs = clock.monotonicMs() + this.#untilMs - clock.now().getTime();
  }

  /** Whether a send was prevented because the lease had ended. */
  get wasOver(): boolean {
    return this.#wasOver;
  }

  /** Checks the lease. Call right before sending anything to the destination. @throws LeaseOver */
  readonly confirm = (): void => {
    const inTime = this.#clock.monotonicMs() < this.#untilMonotonicMs;
    if (inTime && this.#clock.now().getTime() < this.#untilMs) return;
    this.#wasOver = true;
    throw new LeaseOver();
  };
}
