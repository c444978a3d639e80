import { z } from 'zod';
import { count, leadId, time } from './values.ts';

/** State of a delivery. */
export const DeliveryState = z.enum(['pending', 'delivered', 'dead', 'skipped']);

/**
 * State by which deliveries can be selected. An undelivered delivery is pending or dead. A discarded delivery is a skipped one that was dead before.
 */
export const SelectedState = z.enum(['undelivered', ...DeliveryState.options, 'discarded']);

/** One attempt, or several consecutive attempts that failed in the same way. */
export const AttemptRow = z.object({
  started_at: time,
  duration_ms: z.number(),
  outcome: z.string(),
  http_status: z.int().nullable(),
  error: z.string().nullable(),
  times: count,
  last_started_at: time.nullable(),
});

/** A delivery: one version of one lead, owed to one sink. */
export const DeliveryRow = z.object({
  delivery_id: z.string(),
  source: z.string(),
  lead_id: leadId,
  lead_version: count,
  sink: z.string(),
  event: z.string(),
  state: DeliveryState,
  reason: z.string().nullable(),
  /** Attempts that count towards the retry schedule, since the last retry by an operator. Attempts while the sink is held do not count. */
  attempts: count,
  replay: z.boolean(),
  owed_at: time,
  next_attempt_at: time.nullable(),
  settled_at: time.nullable(),
  /** Whether the delivery was dead until an operator discarded it. `reason` then contains the note, and why the delivery was dead. */
  discarded: z.boolean(),
  /** The record that the lead became at the destination; null if the destination reported none. */
  ref: z.object({ object: z.string(), id: z.string(), url: z.string().nullable() }).nullable(),
  /** Number of attempts that the ledger has on record. `retention` removes the attempts of settled deliveries. */
  attempts_made: count,
  /**
   * The HTTP status and the duration of the last attempt that the ledger has on record. The duration is that of the whole batch. Each is null if there
   * is no such attempt; the status also if the destination sent none.
   */
  last_http_status: z.int().nullable(),
  last_duration_ms: z.number().nullable(),
  /** Whether the ledger has the destination's answer to one of the attempts; to read it, reveal the lead. */
  has_answer: z.boolean(),
  /**
   * Set while the delivery is due and waits for its batch to fill: the latest time at which the batch closes, according to the sink's
   * `batch.wait`. The batch closes earlier if it fills up, or if an older delivery in it has waited for that time. If the sink is held or
   * paused, the attempt is later.
   */
  waits_for_batch_until: time.nullable(),
});

/** The fields of a delivery, in order. */
export const DELIVERY_COLUMNS = DeliveryRow.keyof().options;

/** Filter for deliveries; a delivery must match every field. A `lead` without a `source` matches in every source. */
export const DeliveryFilter = z.object({
  sink: z.string().optional(),
  source: z.string().optional(),
  lead: leadId.optional(),
  delivery: z.string().optional(),
  /** The `webhook-id` that a receiver got. That of a batch is found if it is among the last 20,000 attempts. */
  webhook_id: z.string().trim().min(1).max(400).optional(),
  state: SelectedState.optional(),
  /** Part of the reason, ignoring case, or the HTTP status of the last attempt. */
  reason: z.string().trim().min(1).max(200).optional(),
  /** Inclusive start of the time range in which the delivery was delivered; `delivered_until` is its exclusive end. */
  delivered_since: time.optional(),
  delivered_until: time.optional(),
  /** Inclusive start of the time range in which the delivery was owed; `until` is its exclusive end. */
  since: time.optional(),
  until: time.optional(),
});

/** The dead deliveries of all sinks, and the pending ones whose last attempt failed, by reason, most frequent first. */
export const FailureReasons = z.object({
  rows: z.array(
    z.object({
      state: z.enum(['dead', 'pending']),
      reason: z.string(),
      deliveries: count,
      /** The sinks of these deliveries, with the most deliveries first. */
      sinks: z.array(z.object({ sink: z.string(), deliveries: count })),
    }),
  ),
  /** Number of deliveries that were counted and have other reasons than those of `rows`. */
  others: count,
  /** Whether all such deliveries are counted. If false, only the newest dead ones of each sink are, and the pending ones that are retried first. */
  complete: z.boolean(),
});

/**
 * Filter for the leads to replay to a sink; a lead must match every field. `since` and `until` compare the time when the lead was first seen or
 * last changed. One delivery of the lead to the sink must match `state`, `reason`, `delivered_since` and `delivered_until`.
 */
export const ReplayFilter = DeliveryFilter.omit({ sink: true, delivery: true, webhook_id: true }).extend({
  /** Only leads that the sink does not have because its `where` left them out. */
  left_out: z.literal(true).optional(),
});

/** The deliveries that a retry or a discard would change, in groups, most first, and the given ids that select no delivery. */
export const ActionTotals = z.object({
  deliveries: count,
  groups: z.array(
    z.object({
      sink: z.string(),
      source: z.string(),
      state: DeliveryState,
      reason: z.string().nullable(),
      deliveries: count,
    }),
  ),
  unmatched: z.array(z.string()).readonly(),
});

/** Number of leads that a replay would owe, their sources, a sample of them, and the given ids that match no lead. */
export const ReplayTotals = z.object({
  leads: count,
  sources: z.array(z.string()).readonly(),
  /** The first leads that would be sent, at most 10. */
  sample: z.array(z.object({ source: z.string(), lead_id: leadId })).readonly(),
  unmatched: z.array(z.string()).readonly(),
});

/**
 * Result of cancelling a sink's replays: the numbers of deliveries that were skipped, that stay because they are being attempted, and that
 * stay because the sink would otherwise miss a version that it was owed before.
 */
export const ReplayCancellation = z.object({ cancelled: count, attempted: count, needed: count });

export type DeliveryRow = z.infer<typeof DeliveryRow>;
export type DeliveryFilter = z.infer<typeof DeliveryFilter>;
export type FailureReasons = z.infer<typeof FailureReasons>;
export type ReplayFilter = z.infer<typeof ReplayFilter>;
export type ActionTotals = z.infer<typeof ActionTotals>;
export type ReplayTotals = z.infer<typeof ReplayTotals>;
export type ReplayCancellation = z.infer<typeof ReplayCancellation>;
