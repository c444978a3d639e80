import { z } from 'zod';
import { type Count, time } from './values.ts';

/**
 * State of a rejected lead. `open`: the last complete listing contains the lead, and it is not valid. `gone`: the last complete listing no
 * longer contains it. `resolved`: leadsync has recorded it since.
 */
export const RejectionState = z.enum(['open', 'gone', 'resolved']);

/** Filter for rejected leads; a rejected lead must match every field. */
export const RejectedFilter = z.object({
  source: z.string().optional(),
  state: RejectionState.optional(),
});

/** A lead that leadsync could not record, without its text. */
export const RejectedRow = z.object({
  rejected_id: z.int(),
  source: z.string(),
  /** Null if the lead has no readable id. */
  lead_id: z.string().nullable(),
  /** Path to the fault in the lead's JSON; empty if the lead as a whole is at fault. */
  path: z.string(),
  reason: z.string(),
  /** The first and the last poll that rejected the lead, and when they began. */
  poll_id: z.int(),
  rejected_at: time,
  last_poll_id: z.int(),
  last_rejected_at: time,
  /** When the lead became valid; null if it did not. */
  resolved_at: time.nullable(),
  state: RejectionState,
});

/** The fields of a rejected lead, in order. */
export const REJECTED_COLUMNS = RejectedRow.keyof().options;

/** The text of a rejected lead: personal data. It is empty if it was erased. */
export const RejectedContent = RejectedRow.extend({ raw: z.string() });

/** The number of rejected leads, and of those with each fault of a source, most frequent first: at most 100 faults. */
export interface RejectedCount extends Count {
  readonly faults: readonly (Pick<RejectedRow, 'source' | 'path' | 'reason'> & { readonly leads: number })[];
}

export type RejectionState = z.infer<typeof RejectionState>;
export type RejectedFilter = z.infer<typeof RejectedFilter>;
export type RejectedRow = z.infer<typeof RejectedRow>;
export type RejectedContent = z.infer<typeof RejectedContent>;
