import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../../src/platform/time/clock.ts';

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

/** Event loop turns in which woken code comes to rest; SQLite commits once per turn. */
const TURNS_TO_REST = 12;

/** A clock that moves only when the test moves it. */
export class HeldClock implements Clock {
  #startMs: number;
  #passedMs = 0;
  readonly #sleepers = new Set<Sleeper>();
  readonly #comeToRest: () => Promise<void>;

  /** `comeToRest` lets woken code do everything it can before the clock moves on. */
  constructor(start = '2026-11-20T10:00:00.000Z', comeToRest = rest) {
    this.#startMs = Date.parse(start);
    this.#comeToRest = comeToRest;
  }

  now(): Date {
    return new Date(this.#startMs + this.#passedMs);
  }

  /** Returns the time `ms` from now. */
  in(ms: number): Date {
    return new Date(this.#startMs + this.#passedMs + ms);
  }

  /** The time that the test has let pass, in ms. */
  get passedMs(): number {
    return this.#passedMs;
  }

  /** Has fractions, as a machine's clock does: its difference from the whole milliseconds of `now` varies between readings. */
  monotonicMs(): number {
    const whole = Math.floor(this.#passedMs);
    return whole + ((whole * 0.618_033_988_75) % 1);
  }

  /** The number of sleepers. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper = { atMs: this.#passedMs + Math.max(0, ms), wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  /** Sets the wall clock back (or ahead, if negative), as an operator would; the monotonic time does not change. */
  setBack(ms: number): void {
    this.#startMs -= ms;
  }

  /** Jumps without waking sleepers: for code that only reads the time. */
  jump(ms: number): void {
    this.#passedMs += ms;
  }

  /** Lets `ms` pass: wakes each sleeper at its time and lets its work come to rest before waking the next. */
  async pass(ms: number): Promise<void> {
    const endMs = this.#passedMs + ms;
    await this.#comeToRest();
    for (let next = this.#next(endMs); next; next = this.#next(endMs)) {
      this.#passedMs = Math.max(this.#passedMs, next.atMs);
      next.wake();
      await this.#comeToRest();
    }
    this.#passedMs = endMs;
  }

  #next(endMs: number): Sleeper | undefined {
    return [...this.#sleepers]
      .filter((sleeper) => sleeper.atMs <= endMs)
      .sort((a, b) => a.atMs - b.atMs)
      .at(0);
  }
}

/** Lets work in this process come to rest, unless it waits for something outside of it. */
export async function rest(): Promise<void> {
  for (let turns = 0; turns < TURNS_TO_REST; turns += 1) await turn();
}
