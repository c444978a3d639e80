/** A step by which the clock was set back, in ms since 1970. */
export interface ClockStep {
  readonly from_at: number;
  readonly to_at: number;
}

/** Maximum time from a step of the clock until the step is recorded, in ms. */
const STEP_NOTED_MS = 86_400_000;
/**
 * Maximum time by which the timestamps of rows written between the step and its recording may precede `to_at`, in ms. The daemon detects a
 * step within a second or two.
 */
const STEP_MARGIN_MS = 60_000;

/**
 * Returns the earliest timestamp that a row written since `since` may have. `steps` are in order, latest first: each step moves the earliest
 * timestamp to consider further back, so earlier steps may also have to be considered.
 */
export function reachedBackBy(steps: readonly ClockStep[], since: Date): Date {
  let earliest = since.getTime();
  for (const { from_at, to_at } of steps)
    if (from_at >= earliest - STEP_NOTED_MS) earliest = Math.min(earliest, to_at - STEP_MARGIN_MS);
  return new Date(earliest);
}
