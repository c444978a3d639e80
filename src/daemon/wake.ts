import type { Clock } from '../platform/clock.ts';

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
    this.#sleeper?.abort();
  }

  /** Resolves on news, at `until` (undefined: no such time), or when the signal aborts. */
  async sleep(until: Date | undefined, signal: AbortSignal): Promise<void> {
    if (!this.#news && !signal.aborted) {
      this.#sleeper = new AbortController();
      const ms =
        until === undefined ? 2 ** 31 - 1 : Math.max(0, until.getTime() - this.#clock.now().getTime());
      await this.#clock.sleep(ms, AbortSignal.any([signal, this.#sleeper.signal]));
      this.#sleeper = undefined;
    }
    this.#news = false;
  }
}
