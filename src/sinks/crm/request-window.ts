import type { Clock } from '../../platform/time/clock.ts';

/** Share of a window that is added to it, because requests arrive at other intervals than they are sent. */
const MARGIN = 0.02;

/** What a service allows: a number of requests within any period of `perMs`. */
export interface RequestLimit {
  readonly requests: number;
  readonly perMs: number;
}

/** Keeps the requests of this process within the limit of a service, so that the service never has to refuse one. */
export class RequestWindow {
  readonly #clock: Clock;
  #limit: RequestLimit;
  /** When the last requests were made, oldest first, by the monotonic clock. */
  #made: number[] = [];
  /** Until then the service allows nothing more, by the monotonic clock. */
  #closedUntil = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, limit: RequestLimit) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Waits until one more request is within the limit, and counts it. Returns early if `signal` aborts. */
  async take(signal: AbortSignal): Promise<void> {
    for (;;) {
      const waitMs = this.#waitMs();
      if (waitMs <= 0 || signal.aborted) break;
      await this.#clock.sleep(waitMs, signal);
    }
    this.#made.push(this.#clock.monotonicMs());
  }

  /** Adopts what the service says about its limit, and how many requests it still allows: other programs may use it as well. */
  learn({ requests, perMs, remaining }: RequestLimit & { readonly remaining: number }): void {
    this.#limit = { requests, perMs };
    if (remaining <= 0)
      this.#closedUntil = this.#clock.monotonicMs() + perMs * MARGIN + this.#untilOldestLeaves();
  }

  #waitMs(): number {
    const now = this.#clock.monotonicMs();
    const { requests, perMs } = this.#limit;
    const span = perMs * (1 + MARGIN);
    this.#made = this.#made.filter((at) => at > now - span);
    const oldest = this.#made[this.#made.length - requests];
    return Math.max(this.#closedUntil - now, oldest === undefined ? 0 : oldest + span - now);
  }

  /** Returns the time until the oldest counted request is out of the window, in ms; the whole period if none is counted. */
  #untilOldestLeaves(): number {
    const [oldest] = this.#made;
    const { perMs } = this.#limit;
    return oldest === undefined ? perMs : Math.max(0, oldest + perMs - this.#clock.monotonicMs());
  }
}
