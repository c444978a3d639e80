import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../../src/platform/time/clock.ts';

/** A clock that runs `times` as fast as real time, beside real servers. */
export class FastClock implements Clock {
  readonly #times: number;
  readonly #start = Date.now();
  readonly #startMs = performance.now();

  constructor(times: number) {
    this.#times = times;
  }

  now(): Date {
    return new Date(this.#start + this.monotonicMs());
  }

  monotonicMs(): number {
    return (performance.now() - this.#startMs) * this.#times;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await sleep(ms / this.#times, undefined, signal ? { signal } : {}).catch(() => undefined);
  }
}
