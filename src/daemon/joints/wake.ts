import type { Clock } from '../../platform/time/clock.ts';

/** A reason at hand: without one an error with its stack would be made at every wake. */
const AWAKE = 'awake';

/** Lets one loop sleep until something happened or a time has come. News while nobody sleeps is not lost. */
export class Wake {
  readonly #clock: Clock;
  #news = false;
  #sleeper: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  notify(): void {
    this.#news = true;
    this.#sleeper?.abort(AWAKE);
  }

  /** Resolves on news, at `until` (undefined: no such time), or when the signal aborts. */
  async sleep(until: Date | undefined, signal: AbortSignal): Promise<void> {
    if (!this.#news && !signal.aborted) {
      const sleeper = new AbortController();
      this.#sleeper = sleeper;
      const ms =
        until === undefined ? 2 ** 31 - 1 : Math.max(0, until.getTime() - this.#clock.now().getTime());
      // Not `AbortSignal.any`, which costs ten times as much, and there is a wake for every delivery.
      const stop = () => sleeper.abort(AWAKE);
      signal.addEventListener('abort', stop, { once: true });
      await this.#clock.sleep(ms, sleeper.signal);
      signal.removeEventListener('abort', stop);
      this.#sleeper = undefined;
    }
    this.#news = false;
  }
}

/** A wake for the loop of each sink. */
export class Wakes {
  readonly #clock: Clock;
  readonly #wakes = new Map<string, Wake>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A new wake for a sink whose loop begins, in the place of the one before. */
  open(sink: string): Wake {
    const wake = new Wake(this.#clock);
    this.#wakes.set(sink, wake);
    return wake;
  }

  /** Something of this sink may be due, or have room. */
  notify(sink: string): void {
    this.#wakes.get(sink)?.notify();
  }

  /** Something may be due for any sink. */
  notifyAll(): void {
    for (const wake of this.#wakes.values()) wake.notify();
  }
}
