import type { Aim, Figure, Reference } from './report.ts';
import { median } from './statistics.ts';

/** A figure compared with one reference, one aim, or both. */
export interface Verdict {
  readonly reference: Reference | undefined;
  /** The median divided by that of the reference; undefined without a reference that can do the work. */
  readonly ratio: number | undefined;
  readonly aim: Aim | undefined;
  /** Whether the aim is met; undefined without an aim, or without a ratio to compare with it. */
  readonly met: boolean | undefined;
}

/**
 * Compares a figure with each of its references and aims. An aim in the unit of the figure shares a verdict with the first reference
 * that has no aim of its own, or has one of its own. Returns at least one verdict, even without references and aims.
 */
export function verdicts(figure: Figure): Verdict[] {
  const absolute = figure.aims.filter(({ of }) => of === undefined);
  const ofReferences = figure.references.map((reference): Verdict => {
    const ratio = ratioTo(figure, reference);
    const relative = figure.aims.find(({ of }) => of === reference.name);
    if (relative === undefined) return { reference, ratio, ...judged(figure, absolute.shift()) };
    return { reference, ratio, aim: relative, met: ratio === undefined ? undefined : meets(ratio, relative) };
  });
  const alone = absolute.map((aim) => ({ reference: undefined, ratio: undefined, ...judged(figure, aim) }));
  const all = [...ofReferences, ...alone];
  return all.length > 0 ? all : [{ reference: undefined, ratio: undefined, aim: undefined, met: undefined }];
}

function judged({ values }: Figure, aim: Aim | undefined): Pick<Verdict, 'aim' | 'met'> {
  return { aim, met: aim && meets(median(values), aim) };
}

/** Returns the ratio of the medians; undefined if the reference cannot do the work. */
function ratioTo(figure: Figure, reference: Reference): number | undefined {
  return reference.values.length === 0 ? undefined : median(figure.values) / median(reference.values);
}

function meets(value: number, { is, limit }: Aim): boolean {
  return is === 'at most' ? value <= limit : value >= limit;
}
