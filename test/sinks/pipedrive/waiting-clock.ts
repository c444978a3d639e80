import type { Clock } from '../../../src/platform/time/clock.ts';

/** A clock on which only waits take time, and they take none of this machine. */
export class WaitingClock implements Clock {
  passedMs = 0;
  readonly #startMs: number;

  constructor(start: Date = new Date()) {
    this.#startMs = start.getTime();
  }

  now(): Date {
    return new Date(this.#startMs + this.passedMs);
  }

  monotonicMs(): number {
    return this.passedMs;
  }

  async sleep(ms: number): Promise<void> {
    this.passedMs += ms;
  }
}
