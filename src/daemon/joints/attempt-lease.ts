import type { Clock } from '../../platform/time/clock.ts';
import { LeaseOver } from '../../sinks/sink.ts';

/** Nothing is sent that would arrive so shortly before the lease ends, in ms. Less than the lease outlives the attempt's budget. */
const MARGIN_MS = 5_000;

/**
 * The lease of one attempt, as far as its process can tell without asking the ledger. By both clocks: the wall clock goes on while
 * a machine is suspended, and the monotonic one cannot be set back. While a process is frozen both go on.
 */
export class AttemptLease {
  readonly #clock: Clock;
  readonly #untilMs: number;
  readonly #untilMonotonicMs: number;
  #wasOver = false;

  /** To be made as soon as the ledger has said until when the lease lasts. */
  constructor(clock: Clock, leasedUntil: Date) {
    this.#clock = clock;
    this.#untilMs = leasedUntil.getTime() - MARGIN_MS;
    this.#untilMonotonicMs = clock.monotonicMs() + this.#untilMs - clock.now().getTime();
  }

  /** Whether something was to be sent when the lease was over, and so was not. */
  get wasOver(): boolean {
    return this.#wasOver;
  }

  /** To be called right before anything leaves for the destination. @throws LeaseOver */
  readonly confirm = (): void => {
    const inTime = this.#clock.monotonicMs() < this.#untilMonotonicMs;
    if (inTime && this.#clock.now().getTime() < this.#untilMs) return;
    this.#wasOver = true;
    throw new LeaseOver();
  };
}
