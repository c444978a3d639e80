import { z } from 'zod';
import { AttemptRow } from './deliveries.ts';
import { SinkOverview, SpeedToLead } from './overview.ts';
import { count, leadId, time } from './values.ts';

/** A period for which the activity of a sink can be shown. */
export const Period = z.enum(['1h', '24h', '7d']);

/**
 * Attempts by outcome. `success_rate` is the share of attempts that delivered their lead; null if there are no attempts. The durations are the
 * median and the 95th percentile of batch durations, accurate to 5%; null if there are no batches.
 */
const AttemptTotals = z.object({
  delivered: count,
  refused: count,
  unavailable: count,
  success_rate: z.number().nullable(),
  duration_p50_ms: z.number().nullable(),
  duration_p95_ms: z.number().nullable(),
});

/** A sink in the list of sinks. */
export const SinkRow = SinkOverview.extend({
  /** The option that says where the sink delivers, such as `url` or `directory`, with secrets masked. Null if there is none. */
  address: z.string().nullable(),
  /** The attempts in the last hour, accurate to ten minutes. */
  attempts_last_hour: AttemptTotals,
});

const SinkAttempt = AttemptRow.extend({
  delivery_id: z.string(),
  source: z.string(),
  lead_id: leadId,
  /** Whether the ledger has the destination's answer; to read it, reveal the lead. */
  has_answer: z.boolean(),
});

/**
 * Everything about one sink: its state, what it has done since `period_start`, what it is owed, and its latest attempts. Contains no lead
 * content.
 */
export const SinkDetail = SinkOverview.extend({
  at: time,
  period: Period,
  /** Up to ten minutes later than the requested beginning, because leadsync sums attempts up in intervals of ten minutes. */
  period_start: time,
  /**
   * Time of the first attempts that are counted; null if there are none. Counting began with an upgrade of leadsync, and the counts are kept for
   * eight days.
   */
  counted_from: time.nullable(),
  /** The options of the sink that are set, with the address of its destination. Secrets are masked. */
  /** `origin` is null for a client that may not see the configuration. */
  options: z.array(z.object({ option: z.string(), value: z.string(), origin: z.string().nullable() })),
  attempts: AttemptTotals,
  /** Speed to lead of the leads that were first seen since `period_start`. */
  speed_to_lead: SpeedToLead,
  /** Attempts by outcome and HTTP status, most frequent first. */
  outcomes: z.array(z.object({ outcome: z.string(), http_status: z.int().nullable(), attempts: count })),
  /** Failed attempts by reason, most frequent first. A null reason stands for all other reasons together. */
  errors: z.array(z.object({ reason: z.string().nullable(), attempts: count })),
  /** Length of each part of `series`, in seconds. */
  step_seconds: z.number(),
  /** The parts of the period, oldest first. */
  series: z.array(AttemptTotals.extend({ from: time })),
  /**
   * The last holds and pauses, newest first. Those that followed each other within a minute count as one. `until` is null while the hold or
   * pause lasts.
   */
  holds: z.array(
    z.object({
      kind: z.enum(['held', 'paused']),
      since: time,
      until: time.nullable(),
      times: count,
      reason: z.string().nullable(),
    }),
  ),
  /** Pending deliveries grouped by how long ago they were owed, youngest first. `at_least` means that counting stopped. */
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
  /** Whether `reasons` counts all deliveries. If false, it counts only 5,000 of each state. */
  reasons_complete: z.boolean(),
  /** The last attempts, newest first, at most 50. To find them, leadsync reads at most 20,000 attempts, including those of other sinks. */
  recent: z.array(SinkAttempt),
  /**
   * The last attempts that failed, newest first, at most 50, however many succeeded since. To find them, leadsync reads at most 20,000 failed
   * attempts, including those of other sinks.
   */
  recent_failed: z.array(SinkAttempt),
});

export type Period = z.infer<typeof Period>;
export type SinkRow = z.infer<typeof SinkRow>;
export type SinkDetail = z.infer<typeof SinkDetail>;

/** Returns the description of a sink without the origins of its options, which name files and environment variables. */
export function withoutOrigins(sink: SinkDetail): SinkDetail {
  return { ...sink, options: sink.options.map((one) => ({ ...one, origin: null })) };
}
