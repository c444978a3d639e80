import type { Chance } from '../simulation/chance.ts';

/**
 * One thing that is done to a part of the world at its time. All of them are drawn before anything starts; only what
 * they meet differs between two runs.
 */
export interface Deed<Part> {
  /** From the start of the run, in ms. */
  readonly atMs: number;
  /** What it does, for people: `frozen for 3.2 s`. */
  readonly text: string;
  /** Does it. What it gives, once awaited, is a remark where it is a text. */
  readonly act: (part: Part) => unknown;
}

/** A stretch of time in which something is wrong, in ms: planned, from the start of the run; seen, by `performance.now()`. */
export interface Spell {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The shortest and the longest of something, in ms. */
export type Range = readonly [number, number];

/** Times of trouble, each as long as one of `troubles` says, between times of calm, until `endMs`. They do not overlap. */
export function spells(chance: Chance, endMs: number, calm: Range, ...troubles: readonly Range[]): Spell[] {
  const drawn: Spell[] = [];
  for (let atMs = 0; ; ) {
    const fromMs = atMs + chance.between(...calm);
    if (fromMs >= endMs) return drawn;
    atMs = Math.min(endMs, fromMs + chance.between(...oneOf(chance, troubles)));
    drawn.push({ fromMs, toMs: atMs });
  }
}

/** One of these. */
export function oneOf<T>(chance: Chance, choices: readonly T[]): T {
  const chosen = choices[chance.below(choices.length)];
  if (chosen === undefined) throw new RangeError('there is nothing to choose from');
  return chosen;
}

/** How long a spell is, for people: `3.2 s`. */
export function lengthOf({ fromMs, toMs }: Spell): string {
  return `${((toMs - fromMs) / 1000).toFixed(1)} s`;
}
