import type { Random } from '../../src/platform/time/clock.ts';

/** Random numbers from a seed. Each part of the simulation has its own stream, so that one does not shift another. */
export class Chance {
  #state: number;

  constructor(seed: number, stream: string) {
    this.#state = seed | 0;
    for (const letter of stream) this.#state = mix(this.#state ^ letter.charCodeAt(0));
  }

  /** Returns a number from 0 up to, but not including, 1 (mulberry32). */
  readonly random: Random = () => {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    return (mix(this.#state) >>> 0) / 2 ** 32;
  };

  /** Returns a whole number from 0 up to, but not including, `end`. */
  below(end: number): number {
    return Math.floor(this.random() * end);
  }

  /** Returns a whole number; both ends are included. */
  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  /** Returns the items in another order; the array itself does not change. */
  shuffled<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, place: this.random() }))
      .sort((a, b) => a.place - b.place)
      .map(({ item }) => item);
  }

  /** Returns up to `count` of the items. */
  some<T>(items: readonly T[], count: number): T[] {
    return this.shuffled(items).slice(0, count);
  }

  /** Returns a random name that is practically unique. */
  hex(): string {
    return Math.floor(this.random() * 2 ** 48)
      .toString(16)
      .padStart(12, '0');
  }
}

/** Spreads a number over all 32 bits. */
export function mix(value: number): number {
  let mixed = value | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return mixed ^ (mixed >>> 14);
}
