import { z } from 'zod';

/**
 * What the shapes in this folder have in common. The API returns them as JSON, and the pages render them. Fields are named as in the store
 * (docs/store.md). Lead content is only in `Content`, `LeadPreviews`, `FoundLeads`, `RejectedContent` and `TriedExpression`.
 */

/** A time: UTC, `YYYY-MM-DDTHH:MM:SS.sssZ`. */
export const time = z.iso.datetime({ precision: 3 });

/** Lead id, up to 2^63 − 1. It is text, because a JSON number above 2^53 loses digits. */
export const leadId = z.string().regex(/^\d{1,19}$/);

/** A count: a whole number that is not negative. */
export const count = z.int().nonnegative();

/** A number of rows. `isAtLeast`: counting stopped at `MAX_COUNTED`, or earlier because it would have read too many rows that do not match. */
export interface Count {
  readonly count: number;
  readonly isAtLeast: boolean;
}

/** Order of a list, by time. */
export const Order = z.enum(['newest', 'oldest']);
export type Order = z.infer<typeof Order>;

/** Returns the schema of a page of rows. `next` is the cursor of the following page, or null at the end. */
export const pageOf = <Row extends z.ZodType>(row: Row) =>
  z.object({ rows: z.array(row).readonly(), next: z.string().nullable() });

/** State or result of a poll. */
export const PollStatus = z.enum(['running', 'success', 'unchanged', 'partial', 'failed']);

/** Result of a poll: its status or, if it read a complete listing, what is wrong with that listing. */
export const PollResult = z.enum([
  'running',
  'success',
  'unchanged',
  'shrunk',
  'rejected',
  'partial',
  'failed',
]);

/** Result by which polls can be selected. `not-unchanged` selects every poll whose status is not `unchanged`. */
export const SelectedResult = z.enum([...PollResult.options, 'not-unchanged']);
