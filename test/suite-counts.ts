import { z } from 'zod';

/** How the suite went, as one process tells the other. */
export const suiteCounts = z.strictObject({
  passed: z.number(),
  /** Tests that failed, and whatever else went wrong: files that could not be loaded, hooks, errors outside of tests. */
  failed: z.number(),
  skipped: z.number(),
  /** Something ran, and nothing failed or was left out unasked. */
  ok: z.boolean(),
});

export type SuiteCounts = z.output<typeof suiteCounts>;

/** `123 passed, 0 failed`, and what was skipped when something was. */
export function summary({ passed, failed, skipped }: SuiteCounts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
