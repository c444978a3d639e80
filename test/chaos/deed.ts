import type { Chance } from '../simulation/chance.ts';

/**
 * An action on a part of the world at a given time. All actions are drawn before anything starts; only the state that they find differs
 * between two runs.
 */
export interface Deed<Part> {
  /** The time from the start of the run, in ms. */
  readonly atMs: number;
  /** What the action does, for people: `frozen for 3.2 s`. */
  readonly text: string;
  /** Performs the action. If it returns a text, that is a remark. */
  readonly act: (part: Part) => unknown;
}

/** A period of trouble, in ms: from the start of the run if planned, by `performance.now()` if observed. */
export interface Spell {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The minimum and the maximum of something, in ms. */
export type Range = readonly [number, number];

/** Draws periods of trouble, each as long as one of `troubles`, between periods of calm, until `endMs`. They do not overlap. */
export function spells(chance: Chance, endMs: number, calm: Range, ...troubles: readonly Range[]): Spell[] {
  const drawn: Spell[] = [];
  for (let atMs = 0; ; ) {
    const fromMs = atMs + chance.between(...calm);
    if (fromMs >= endMs) return drawn;
    atMs = Math.min(endMs, fromMs + chance.between(...oneOf(chance, troubles)));
    drawn.push({ fromMs, toMs: atMs });
  }
}

/** Returns one of the choices. */
export function oneOf<T>(chance: Chance, choices: readonly T[]): T {
  const chosen = choices[chance.below(choices.length)];
  if (chosen === undefined) throw new RangeError('there is nothing to choose from');
  return chosen;
}

/** Returns the length of a spell, for people: `3.2 s`. */
export function lengthOf({ fromMs, toMs }: Spell): string {
  return `${((toMs - fromMs) / 1000).toFixed(1)} s`;
}
