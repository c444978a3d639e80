import type { Clock } from '../../platform/time/clock.ts';

/** Share by which a window is extended, because the clocks of the service and of this machine may differ. */
const MARGIN = 0.02;

/** Upper bounds above the limits of any CRM. A header that exceeds them is a mistake, for example by a proxy. */
const MAX_REQUESTS = 10_000;
const MAX_PERIOD_MS = 3_600_000;

/** What a service allows: a number of requests within any period of `perMs`. */
export interface RequestLimit {
  readonly requests: number;
  readonly perMs: number;
}

/** The limit that an answer reports, and the number of requests that the service still allows in the current period. */
export interface LimitSaid extends RequestLimit {
  readonly remaining: number;
}

/** Keeps requests within the limit of a service, so that the service never has to refuse one. */
export class RequestWindow {
  readonly #clock: Clock;
  #limit: RequestLimit;
  /** When each request that is not yet answered was sent, by the monotonic clock, in ascending order. */
  readonly #unanswered = new Set<{ readonly sentAtMs: number }>();
  /**
   * When each request of the last two periods was answered, in ascending order. The list includes the requests of other programs and processes,
   * which only the service counts, with the time of the answer that revealed them.
   */
  readonly #answeredAtMs: number[] = [];

  constructor(clock: Clock, limit: RequestLimit) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /**
   * Waits until one more request is within the limit, and counts it. Returns early if `signal` aborts. The caller calls the returned function as
   * soon as the request is answered or has failed, because the service counts a request when it arrives, which may be long after it was sent.
   * The function takes what the answer says about the limit, and adopts it.
   */
  async take(signal: AbortSignal): Promise<(said?: LimitSaid) => void> {
    for (;;) {
      const waitMs = this.#waitMs();
      if (waitMs <= 0 || signal.aborted) break;
      await this.#clock.sleep(waitMs, signal);
    }
    const request = { sentAtMs: this.#clock.monotonicMs() };
    this.#unanswered.add(request);
    return (said) => {
      this.#unanswered.delete(request);
      this.#answeredAtMs.push(this.#clock.monotonicMs());
      if (said && isPlausible(said)) this.#adopt(said, request.sentAtMs);
    };
  }

  /**
   * Adopts the limit, and counts the requests of others: those that the service has counted and this process has not made. They may include an
   * unanswered request of this process, because leadsync cannot know whether it had arrived.
   */
  #adopt({ requests, perMs, remaining }: LimitSaid, sentAtMs: number): void {
    this.#limit = { requests, perMs };
    const known =
      this.#answeredAtMs.length - 1 - this.#answeredAtMs.findLastIndex((atMs) => atMs <= sentAtMs - perMs);
    const others = Math.max(0, requests - remaining - known);
    const atMs = this.#clock.monotonicMs();
    for (let count = 0; count < others; count += 1) this.#answeredAtMs.push(atMs);
  }

  #waitMs(): number {
    const now = this.#clock.monotonicMs();
    const { requests, perMs } = this.#limit;
    const span = perMs * (1 + MARGIN);
    while ((this.#answeredAtMs[0] ?? now) <= now - 2 * span) this.#answeredAtMs.shift();
    const over = this.#answeredAtMs.length + this.#unanswered.size - requests;
    if (over < 0) return 0;
    const sentAtMs = Array.from(this.#unanswered, (request) => request.sentAtMs);
    const oldest = [...sentAtMs, ...this.#answeredAtMs].sort((a, b) => a - b)[over] ?? now;
    return oldest + span - now;
  }
}

/** Whether the numbers are plausible. They are NaN if an answer does not contain them. */
function isPlausible({ requests, perMs, remaining }: LimitSaid): boolean {
  const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0 && value <= MAX_REQUESTS;
  return isCount(requests) && requests > 0 && isCount(remaining) && perMs > 0 && perMs <= MAX_PERIOD_MS;
}
