import type { Tally } from './tally.ts';

/** The difference between the leads that the stub served and those that arrived at one sink, by id. */
export interface Comparison {
  readonly arrived: number;
  readonly missing: readonly number[];
  readonly repeated: readonly number[];
  /** Leads that arrived but were never served. */
  readonly unknown: readonly number[];
}

/** Compares the served ids with the arrivals at one sink. */
export function compare(served: readonly number[], tally: Tally): Comparison {
  const known = new Set(served);
  return {
    arrived: tally.size,
    missing: served.filter((id) => !tally.has(id)),
    repeated: [...tally].filter(([, times]) => times > 1).map(([id]) => id),
    unknown: [...tally.keys()].filter((id) => !known.has(id)),
  };
}

/** Whether every lead arrived exactly once, and nothing else did. */
export function isExact({ missing, repeated, unknown }: Comparison): boolean {
  return missing.length + repeated.length + unknown.length === 0;
}

/** Returns a comparison as a line: `by webhook  28 arrived, 0 missing, 0 repeated`. */
export function comparisonLine(what: string, { arrived, missing, repeated, unknown }: Comparison): string {
  const strange = unknown.length > 0 ? `, ${unknown.length} never served${some(unknown)}` : '';
  return (
    `  ${what.padEnd(12)} ${arrived} arrived, ${missing.length} missing${some(missing)}, ` +
    `${repeated.length} repeated${some(repeated)}${strange}\n`
  );
}

function some(ids: readonly number[]): string {
  if (ids.length === 0) return '';
  return ` (${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ', …' : ''})`;
}
