import type { Clock } from '../../platform/time/clock.ts';

/** Share of a window that is added to it, because the clock of the service is not that of this machine. */
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
  /** The last requests: when each was answered, or sent if it was not yet answered, by the monotonic clock. */
  #made: { atMs: number }[] = [];
  /** Until then the service allows nothing more, by the monotonic clock. */
  #closedUntil = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, limit: RequestLimit) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /**
   * Waits until one more request is within the limit, and counts it. Returns early if `signal` aborts. The caller calls the returned function as
   * soon as the request is answered or has failed: the service counts a request when it arrives, which may be long after it was sent.
   */
  async take(signal: AbortSignal): Promise<() => void> {
    for (;;) {
      const waitMs = this.#waitMs();
      if (waitMs <= 0 || signal.aborted) break;
      await this.#clock.sleep(waitMs, signal);
    }
    const request = { atMs: this.#clock.monotonicMs() };
    this.#made.push(request);
    return () => {
      request.atMs = this.#clock.monotonicMs();
    };
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
    this.#made = this.#made.filter(({ atMs }) => atMs > now - span).sort((a, b) => a.atMs - b.atMs);
    const oldest = this.#made[this.#made.length - requests];
    return Math.max(this.#closedUntil - now, oldest === undefined ? 0 : oldest.atMs + span - now);
  }

  /** Returns the time until the oldest counted request is out of the window, in ms; the whole period if none is counted. */
  #untilOldestLeaves(): number {
    const [oldest] = this.#made;
    const { perMs } = this.#limit;
    return oldest === undefined ? perMs : Math.max(0, oldest.atMs + perMs - this.#clock.monotonicMs());
  }
}
