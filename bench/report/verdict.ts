import type { Aim, Figure, Reference } from './report.ts';
import { median } from './statistics.ts';

/** How a figure stands to one reference or aim. */
export interface Verdict {
  readonly reference: Reference | undefined;
  /** Median beside the reference's median; undefined without a reference that could do the work. */
  readonly ratio: number | undefined;
  readonly aim: Aim | undefined;
  /** Undefined where there is nothing to meet. */
  readonly met: boolean | undefined;
}

/** A figure against each of its references and aims: one verdict for each reference, and one for each aim without. */
export function verdicts(figure: Figure): Verdict[] {
  const ofReferences = figure.references.map((reference) => {
    const ratio = ratioTo(figure, reference);
    const aim = figure.aims.find(({ of }) => of === reference.name);
    return { reference, ratio, aim, met: aim && ratio !== undefined ? meets(ratio, aim) : undefined };
  });
  const absolute = figure.aims
    .filter(({ of }) => of === undefined)
    .map((aim) => ({ reference: undefined, ratio: undefined, aim, met: meets(median(figure.values), aim) }));
  const all = [...absolute, ...ofReferences];
  return all.length > 0 ? all : [{ reference: undefined, ratio: undefined, aim: undefined, met: undefined }];
}

/** Undefined when the reference could not do the work. */
function ratioTo(figure: Figure, reference: Reference): number | undefined {
  return reference.values.length === 0 ? undefined : median(figure.values) / median(reference.values);
}

function meets(value: number, { is, limit }: Aim): boolean {
  return is === 'at most' ? value <= limit : value >= limit;
}
