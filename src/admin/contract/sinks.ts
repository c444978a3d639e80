import { z } from 'zod';
import { AttemptRow } from './deliveries.ts';
import { SinkOverview, SpeedToLead } from './overview.ts';
import { count, leadId, time } from './values.ts';

/** A period of which the activity of a sink can be shown. */
export const Period = z.enum(['1h', '24h', '7d']);

/**
 * Attempts by outcome. `success_rate` is the share that was delivered; null without attempts. The durations are the median and the 95th
 * percentile of batches, within 5 %; null without batches.
 */
const AttemptTotals = z.object({
  delivered: count,
  refused: count,
  unavailable: count,
  success_rate: z.number().nullable(),
  duration_p50_ms: z.number().nullable(),
  duration_p95_ms: z.number().nullable(),
});

/**
 * Everything about one sink: its state, what it did since `period_start`, what it is owed, and its last attempts. Holds no content of a lead.
 */
export const SinkDetail = SinkOverview.extend({
  at: time,
  period: Period,
  /** Up to ten minutes after the requested beginning, because attempts are summed up by ten minutes. */
  period_start: time,
  /** The first attempts that are counted; null if there are none. They begin with the upgrade of leadsync, and are kept for eight days. */
  counted_from: time.nullable(),
  /** The options of the sink that are set, with the address of its destination. Secrets are masked. */
  options: z.array(z.object({ option: z.string(), value: z.string(), origin: z.string() })),
  attempts: AttemptTotals,
  /** Of the leads that were first seen since `period_start`. */
  speed_to_lead: SpeedToLead,
  /** Attempts by outcome and HTTP status, most frequent first. */
  outcomes: z.array(z.object({ outcome: z.string(), http_status: z.int().nullable(), attempts: count })),
  /** Failed attempts by reason, most frequent first. Null: other reasons, which are not told apart. */
  errors: z.array(z.object({ reason: z.string().nullable(), attempts: count })),
  /** Length of each part of `series`. */
  step_seconds: z.number(),
  /** The parts of the period, oldest first. */
  series: z.array(AttemptTotals.extend({ from: time })),
  /** The last holds and pauses, newest first; those that followed each other within a minute are one. `until` is null while it lasts. */
  holds: z.array(
    z.object({
      kind: z.enum(['held', 'paused']),
      since: time,
      until: time.nullable(),
      times: count,
      reason: z.string().nullable(),
    }),
  ),
  /** Pending deliveries by how long ago they were owed, youngest first. `at_least` means that counting stopped. */
  backlog: z.array(
    z.object({
      from_seconds: z.number(),
      to_seconds: z.number().nullable(),
      deliveries: count,
      at_least: z.boolean(),
    }),
  ),
  /** Dead deliveries, and pending ones whose last attempt failed, by reason, most frequent first. */
  reasons: z.array(z.object({ state: z.enum(['dead', 'pending']), reason: z.string(), deliveries: count })),
  /** Whether `reasons` counts all of them; otherwise the newest 5,000 of each state. */
  reasons_complete: z.boolean(),
  /** The last 50 attempts, newest first, of the last 20,000 of all sinks since. */
  recent: z.array(
    AttemptRow.extend({
      delivery_id: z.string(),
      source: z.string(),
      lead_id: leadId,
      /** Whether the ledger has the destination's answer; to read it, reveal the lead. */
      has_answer: z.boolean(),
    }),
  ),
});

export type Period = z.infer<typeof Period>;
export type SinkDetail = z.infer<typeof SinkDetail>;
