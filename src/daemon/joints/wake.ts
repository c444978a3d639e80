import type { Clock } from '../../platform/time/clock.ts';

/** Explicit abort reason: without one, each abort would create an error with a stack trace. */
const AWAKE = 'awake';

/**
 * Lets one loop sleep until the loop is notified or a given time has come. Remembers a notification that arrives while the loop is awake.
 */
export class Wake {
  readonly #clock: Clock;
  #news = false;
  #sleeper: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Wakes the loop, or makes its next sleep return immediately. */
  notify(): void {
    this.#news = true;
    this.#sleeper?.abort(AWAKE);
  }

  /** Resolves on a notification, at `untilMs` of the monotonic clock, or when the signal aborts. */
  async sleep(untilMs: number, signal: AbortSignal): Promise<void> {
    if (!this.#news && !signal.aborted) {
      const sleeper = new AbortController();
      this.#sleeper = sleeper;
      const ms = Math.max(0, Math.ceil(untilMs - this.#clock.monotonicMs()));
      // Not `AbortSignal.any`: it costs ten times as much, and there is a wake for every delivery.
      const stop = () => sleeper.abort(AWAKE);
      signal.addEventListener('abort', stop, { once: true });
      await this.#clock.sleep(ms, sleeper.signal);
      signal.removeEventListener('abort', stop);
      this.#sleeper = undefined;
    }
    this.#news = false;
  }
}

/** The wakes of all sinks' dispatch loops. */
export class Wakes {
  readonly #clock: Clock;
  readonly #wakes = new Map<string, Wake>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns a new wake for a sink's loop and replaces the previous one. */
  open(sink: string): Wake {
    const wake = new Wake(this.#clock);
    this.#wakes.set(sink, wake);
    return wake;
  }

  /** Wakes the loop of a sink. Call this when a delivery may be due, or when the window may have room. */
  notify(sink: string): void {
    this.#wakes.get(sink)?.notify();
  }

  /** Wakes the loops of all sinks. */
  notifyAll(): void {
    for (const wake of this.#wakes.values()) wake.notify();
  }
}
