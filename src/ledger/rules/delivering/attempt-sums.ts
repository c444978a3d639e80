import type { Outcome } from '../../../leads/outcome.ts';

/** Length of the period for which the attempts of a sink are summed up, in ms. */
export const SLOT_MS = 600_000;
/** Time for which sums are kept, in ms: a week, and one day more, so that the last week is always complete. */
export const KEPT_MS = 8 * 86_400_000;
/** Maximum number of holds and pauses that are kept for each sink. */
export const MAX_HOLDS = 100;
/** Maximum time between two holds that count as one, in ms. A destination may request a pause of one second every few seconds. */
export const SAME_HOLD_MS = 60_000;

/** The sums of the attempts of a sink in a period. Stored as JSON. */
export interface AttemptSums {
  /** Attempts by outcome and HTTP status, or by outcome alone: `delivered 200`, `unavailable`. */
  readonly outcomes: Record<string, number>;
  /** Failed attempts by reason. Further reasons after the first `MAX_REASONS` are counted together under the empty string. */
  readonly reasons: Record<string, number>;
  /** Batches by the `durationStep` of their duration. */
  readonly durations: Record<string, number>;
  /** The numbers of the first and the last row of these attempts in `_attempts`; null if there are none. */
  first: number | null;
  last: number | null;
}

/** What one batch adds to the sums. */
export interface AttemptedBatch {
  readonly outcomes: readonly Outcome[];
  readonly durationMs: number;
  /**
   * The numbers of the batch's first and last rows in `_attempts`; undefined if it added none, because it failed in the same way as the
   * previous attempt.
   */
  readonly rows: { readonly first: number; readonly last: number } | undefined;
}

/** Maximum number of reasons that are counted separately. There is a limit because a destination may put a number or a date into each reason. */
const MAX_REASONS = 10;

/** Returns empty sums. */
export function noAttempts(): AttemptSums {
  return { outcomes: {}, reasons: {}, durations: {}, first: null, last: null };
}

/** Adds a batch. Leads that were not tried, or that the mapping left out, do not count as attempts. */
export function addBatch(sums: AttemptSums, { outcomes, durationMs, rows }: AttemptedBatch): void {
  const tried = outcomes.filter(({ kind }) => kind !== 'untried' && kind !== 'left-out');
  if (tried.length === 0) return;
  for (const outcome of tried) {
    const status = 'httpStatus' in outcome ? outcome.httpStatus : undefined;
    add(sums.outcomes, status === undefined ? outcome.kind : `${outcome.kind} ${status}`, 1);
    if (outcome.kind === 'refused' || outcome.kind === 'unavailable') addReason(sums, outcome.reason, 1);
  }
  add(sums.durations, String(durationStep(durationMs)), 1);
  if (!rows) return;
  sums.first = Math.min(sums.first ?? rows.first, rows.first);
  sums.last = Math.max(sums.last ?? rows.last, rows.last);
}

/** Adds the counts of `more`. Does not change the row numbers. */
export function addSums(sums: AttemptSums, more: AttemptSums): void {
  for (const [key, count] of Object.entries(more.outcomes)) add(sums.outcomes, key, count);
  for (const [reason, count] of Object.entries(more.reasons)) addReason(sums, reason, count);
  for (const [step, count] of Object.entries(more.durations)) add(sums.durations, step, count);
}

/** Adds the counts and the row numbers of `more`, which covers the same period. */
export function mergeSums(sums: AttemptSums, more: AttemptSums): void {
  addSums(sums, more);
  if (more.first === null || more.last === null) return;
  sums.first = Math.min(sums.first ?? more.first, more.first);
  sums.last = Math.max(sums.last ?? more.last, more.last);
}

function addReason({ reasons }: AttemptSums, reason: string, count: number): void {
  const isKnown = Object.hasOwn(reasons, reason);
  add(reasons, isKnown || Object.keys(reasons).length < MAX_REASONS ? reason : '', count);
}

function add(counts: Record<string, number>, key: string, count: number): void {
  counts[key] = (counts[key] ?? 0) + count;
}

/** Number of steps in which a duration doubles. With this number, durations are accurate to 5%. */
const STEPS_PER_DOUBLING = 8;

/** Returns the step of a duration in ms, on a logarithmic scale from 1 ms. */
function durationStep(ms: number): number {
  return Math.round(STEPS_PER_DOUBLING * Math.log2(Math.max(1, ms)));
}

/** Returns the duration that `share` of the batches did not exceed, in ms, by the nearest-rank method; undefined if there are no batches. */
export function durationAt({ durations }: Pick<AttemptSums, 'durations'>, share: number): number | undefined {
  const steps = Object.entries(durations).map(([step, count]) => [Number(step), count] as const);
  const batches = steps.reduce((sum, [, count]) => sum + count, 0);
  let left = Math.ceil(share * batches);
  for (const [step, count] of steps.sort(([one], [other]) => one - other)) {
    left -= count;
    if (left <= 0) return Math.round(2 ** (step / STEPS_PER_DOUBLING));
  }
  return undefined;
}
