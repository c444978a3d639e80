import type { Clock } from '../../platform/time/clock.ts';

/** Maximum number of batches within any period of `perMs`. */
export interface Rate {
  readonly batches: number;
  readonly perMs: number;
}

/** Counts the batches of one sink against its rate. Starts at zero, without the batches of an earlier process. */
export class BatchThrottle {
  #rate: Rate;
  readonly #clock: Clock;
  /** When the last batches were claimed, in ms of the monotonic clock, oldest first. */
  readonly #claimedAt: number[] = [];

  constructor(rate: Rate, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
  }

  /** Applies another rate. Batches that were claimed before the change count towards it, too. */
  set rate(rate: Rate) {
    this.#rate = rate;
  }

  /** Returns how many batches may be claimed now. */
  room(): number {
    const since = this.#clock.monotonicMs() - this.#rate.perMs;
    const counted = this.#claimedAt.findIndex((at) => at > since);
    this.#claimedAt.splice(0, counted < 0 ? this.#claimedAt.length : counted);
    return this.#rate.batches - this.#claimedAt.length;
  }

  /** Counts batches that were claimed now. */
  add(batches: number): void {
    const now = this.#clock.monotonicMs();
    for (let added = 0; added < batches; added += 1) this.#claimedAt.push(now);
  }

  /** Returns when the next batch may be claimed, in ms of the monotonic clock; undefined if one may be claimed now. */
  nextAtMs(): number | undefined {
    const [oldest] = this.#claimedAt;
    return this.room() > 0 || oldest === undefined ? undefined : oldest + this.#rate.perMs;
  }
}

/** The throttles of all sinks. They outlive a reload, because opening a sink again does not undo what it has sent. */
export class BatchThrottles {
  readonly #clock: Clock;
  readonly #throttles = new Map<string, BatchThrottle>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the throttle of a sink; undefined if it has no rate. */
  of(sink: string, rate: Rate | undefined): BatchThrottle | undefined {
    if (!rate) return undefined;
    const throttle = this.#throttles.get(sink) ?? new BatchThrottle(rate, this.#clock);
    throttle.rate = rate;
    this.#throttles.set(sink, throttle);
    return throttle;
  }
}
