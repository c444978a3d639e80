import { z } from 'zod';
import { count, PollResult, PollStatus, SelectedResult, time } from './values.ts';

/** Filter for polls; a poll must match every field. */
export const PollFilter = z.object({
  source: z.string().optional(),
  status: PollStatus.optional(),
  result: SelectedResult.optional(),
});

/** A poll of a source. */
export const PollRow = z.object({
  poll_id: z.int(),
  source: z.string(),
  started_at: time,
  finished_at: time.nullable(),
  duration_ms: z.number().nullable(),
  status: PollStatus,
  leads_listed: count,
  leads_new: count,
  leads_changed: count,
  leads_rejected: count,
  bytes: count,
  http_status: z.int().nullable(),
  error: z.string().nullable(),
  /**
   * Codes of the problems that this poll shows: `poll_failed`, `source_refused`, `listing_shrunk` if earlier listings were far larger, or
   * `leads_rejected`.
   */
  problems: z.array(z.string()),
  /** Number of leads that the previous complete listing had; null unless the poll completed a changed listing. */
  listed_before: count.nullable(),
  /**
   * The status or, if the poll read or confirmed a complete listing, `shrunk` if earlier ones were far larger, or `rejected` if it has rejected
   * leads.
   */
  result: PollResult,
  /** Number of rejected leads in the listing that the poll read or confirmed. `leads_rejected` counts those that it read. */
  listing_rejected: count,
});

/** The fields of a poll, in order. */
export const POLL_COLUMNS = PollRow.keyof().options;

export type PollFilter = z.infer<typeof PollFilter>;
export type PollRow = z.infer<typeof PollRow>;
