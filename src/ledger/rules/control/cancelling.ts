import type { ReplayCancellation } from '../../contract/ledger-control.ts';

/** Maximum number of deliveries that a step reads, so that it holds its locks for only a few ms. */
export const CHUNK = 300;

/** A pending delivery of a replay. */
export interface ReplayedRow {
  delivery_no: number;
  batch_no: number | null;
  /** Whether an attempt is in progress, or the batch may have arrived and must stay the same batch. */
  attempted: 0 | 1;
  /** Whether the sink would have been owed this version without the replay. */
  needed: 0 | 1;
}

/** The result of one step. `next` is undefined after the last step. */
export type CancelStep = ReplayCancellation & { readonly next: number | undefined };

/** Whether a cancellation skips the delivery. */
export function isCancellable({ attempted, needed }: ReplayedRow): boolean {
  return attempted === 0 && needed === 0;
}

/** Returns the result of a step that has read these deliveries, whether or not it changes them. */
export function totalsOf(rows: readonly ReplayedRow[]): CancelStep {
  return {
    cancelled: rows.filter(isCancellable).length,
    attempted: rows.filter(({ attempted }) => attempted === 1).length,
    needed: rows.filter(({ attempted, needed }) => attempted === 0 && needed === 1).length,
    next: rows.length === CHUNK ? rows.at(-1)?.delivery_no : undefined,
  };
}

/** Adds the result of a step to the totals of a cancellation. */
export function addStep(totals: ReplayCancellation, step: ReplayCancellation): ReplayCancellation {
  return {
    cancelled: totals.cancelled + step.cancelled,
    attempted: totals.attempted + step.attempted,
    needed: totals.needed + step.needed,
  };
}
