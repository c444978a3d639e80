import type { Aim, Figure } from './report/report.ts';

/** The results of leadsync and of its references, by their names in the table. */
export type Results<Result> = { readonly leadsync: readonly Result[] } & Readonly<
  Record<string, readonly Result[]>
>;

/** Returns one figure: the values of leadsync with those of every reference. */
export function figureOf<Result>(
  name: string,
  unit: Figure['unit'],
  { leadsync, ...references }: Results<Result>,
  valueIn: (result: Result) => number,
  aims: readonly Aim[] = [],
): Figure {
  return {
    name,
    unit,
    values: leadsync.map(valueIn),
    references: Object.entries(references).map(([reference, results]) => ({
      name: reference,
      values: results.map(valueIn),
    })),
    aims: [...aims],
  };
}

/** Returns an aim with an upper limit. `of` names the reference that a ratio refers to. */
export function atMost(limit: number, of?: string): Aim {
  return { is: 'at most', limit, ...(of === undefined ? {} : { of }) };
}

/** Returns an aim with a lower limit. `of` names the reference that a ratio refers to. */
export function atLeast(limit: number, of?: string): Aim {
  return { is: 'at least', limit, ...(of === undefined ? {} : { of }) };
}
