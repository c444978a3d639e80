import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../../src/platform/time/clock.ts';

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

/** How often the event loop may turn for what was woken to come to rest; SQLite commits once in a turn. */
const TURNS_TO_REST = 12;

/** A clock that stands still until the test moves it. */
export class HeldClock implements Clock {
  #startMs: number;
  #passedMs = 0;
  readonly #sleepers = new Set<Sleeper>();
  readonly #comeToRest: () => Promise<void>;

  /** `comeToRest` lets what was woken do all that it can before the time goes on. */
  constructor(start = '2026-11-20T10:00:00.000Z', comeToRest = rest) {
    this.#startMs = Date.parse(start);
    this.#comeToRest = comeToRest;
  }

  now(): Date {
    return new Date(this.#startMs + this.#passedMs);
  }

  /** The time in `ms` from now. */
  in(ms: number): Date {
    return new Date(this.#startMs + this.#passedMs + ms);
  }

  /** How long the test has let pass. */
  get passedMs(): number {
    return this.#passedMs;
  }

  /** Has fractions, as that of a machine: the difference to the whole milliseconds of `now` changes from reading to reading. */
  monotonicMs(): number {
    const whole = Math.floor(this.#passedMs);
    return whole + ((whole * 0.618_033_988_75) % 1);
  }

  /** How many sleep at this moment. */
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

  /** Sets the wall clock back (or, by less than 0, ahead), as an operator would: the time that passes is not touched. */
  setBack(ms: number): void {
    this.#startMs -= ms;
  }

  /** Jumps, waking nobody in between: for code that only reads the time. */
  jump(ms: number): void {
    this.#passedMs += ms;
  }

  /** Lets `ms` pass: wakes each sleeper at its time, and lets what it does come to rest before the next. */
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

/** Lets what is under way in this process, and waits for nothing outside of it, come to rest. */
export async function rest(): Promise<void> {
  for (let turns = 0; turns < TURNS_TO_REST; turns += 1) await turn();
}
