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

/**
 * A figure against each of its references and aims. An aim in the figure's own unit stands beside the first reference
 * that has no aim of its own, or alone. At least one verdict, if only to say that there is nothing to meet.
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

/** Undefined when the reference could not do the work. */
function ratioTo(figure: Figure, reference: Reference): number | undefined {
  return reference.values.length === 0 ? undefined : median(figure.values) / median(reference.values);
}

function meets(value: number, { is, limit }: Aim): boolean {
  return is === 'at most' ? value <= limit : value >= limit;
}
