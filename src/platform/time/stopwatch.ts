import type { Clock } from './clock.ts';

/**
 * Measures how much time has passed on this machine since it was made, by both clocks: only the wall clock advances while the machine is
 * suspended, and only the monotonic clock cannot be set back. Both advance while the process is frozen.
 */
export class Stopwatch {
  readonly #clock: Clock;
  readonly #wallMs: number;
  readonly #monotonicMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#wallMs = clock.now().getTime();
    this.#monotonicMs = clock.monotonicMs();
  }

  /** Returns the time that has passed, in ms: the longer one if the clocks differ. */
  elapsedMs(): number {
    return Math.max(
      this.#clock.now().getTime() - this.#wallMs,
      this.#clock.monotonicMs() - this.#monotonicMs,
    );
  }
}
