import { z } from 'zod';
import { count, PollStatus, time } from './values.ts';

/** A problem in complete sentences, with its next step. `about` names the source, sink, export or backup. */
const Problem = z.object({
  /** Stable id, such as `sink_held`; alerts use the same ids. */
  code: z.string(),
  severity: z.enum(['warning', 'critical']),
  about: z.string().nullable(),
  message: z.string(),
  next_step: z.string(),
  /** The next step, without commands for which the pages have a button or a link. */
  page_step: z.string(),
  /** Section of the operating manual, as a path in the repository. */
  runbook: z.string(),
  /** The page that shows that section; null if the configuration does not name the address of the pages. */
  runbook_url: z.string().nullable(),
});

/** A source and its last polls. */
export const SourceOverview = z.object({
  source: z.string(),
  leads: count,
  leads_listed: count,
  leads_rejected: count,
  last_poll_at: time.nullable(),
  last_poll_status: PollStatus.nullable(),
  last_success_at: time.nullable(),
  /** Code of the failure of the last poll, such as `login-refused`; null if it did not fail, or if a stop of leadsync interrupted it. */
  error_code: z.string().nullable(),
  /** Seconds since the last complete listing. */
  freshness_seconds: z.number().nullable(),
  error: z.string().nullable(),
  /** Start of the first of the failed polls since the last complete one; null if the last poll did not fail. */
  failing_since: time.nullable(),
  /** When the next poll is due: by the schedule or, after a failure, by the back-off. Null if that is unknown, and while a poll runs. */
  next_poll_at: time.nullable(),
  /** Codes of the problems of this source, as in `problems` of the overview, such as `listing_shrunk` after a poll that succeeded. */
  problems: z.array(z.string()),
});

/** State of a sink's circuit breaker, which holds the sink while its destination does not work. */
const Breaker = z.object({
  /**
   * Number of the last batches that were attempted while the sink was not held (at most 100), and how many of them failed because the
   * destination was unavailable.
   */
  recent_attempts: count,
  recent_failures: count,
  /** `recent_failures` divided by `recent_attempts`; null if there are no batches. */
  failure_rate: z.number().nullable(),
  /**
   * The sink is held when this many of the last `held_at_attempts` batches fail; when `held_at_consecutive_failures` batches in a row fail and
   * no lead has been delivered for 5 s; when `held_at_consecutive_refusals` leads in a row are refused; or when the destination asks for a
   * pause.
   */
  held_at_failures: count,
  held_at_attempts: count,
  held_at_consecutive_failures: count,
  held_at_consecutive_refusals: count,
  /** Number of failed probes since the hold began; null while the sink is not held. */
  failed_probes: count.nullable(),
  /** Current maximum number of concurrent batches, which grows to `max_concurrency` while the sink recovers. Null if the sink is not configured. */
  concurrency: count.nullable(),
  max_concurrency: count.nullable(),
  /** Sentences that say why the sink is held and how it recovers, or how close it is to a hold; null if there is nothing to say. */
  explanation: z.string().nullable(),
});

/** State and backlog of a sink. */
export const SinkOverview = z.object({
  sink: z.string(),
  type: z.string().nullable(),
  /** The former name of the sink, as its option `formerly` states it. */
  formerly: z.string().nullable(),
  /** `orphaned` means that the sink was removed from the configuration while the ledger still has pending or dead deliveries for it. */
  state: z.enum(['healthy', 'held', 'paused', 'disabled', 'orphaned']),
  /** Reason for the hold or the pause. */
  reason: z.string().nullable(),
  since: time.nullable(),
  /** Codes of the problems of this sink, as in `problems` of the overview. Even a sink that works can have problems, such as `deliveries_dead`. */
  problems: z.array(z.string()),
  pending: count,
  retrying: count,
  /** Number of pending deliveries that replays owe. */
  replays_pending: count,
  delivered: count,
  dead: count,
  skipped: count,
  /** Number of leads that `where` has left out since a lead was last delivered. Counts only among the last 1,000 skipped leads. */
  left_out_since_delivered: count,
  oldest_owed_at: time.nullable(),
  last_delivered_at: time.nullable(),
  next_attempt_at: time.nullable(),
  /** Null until leadsync has run with the sink. */
  breaker: Breaker.nullable(),
  /** How much of its daily limit the destination reported as used in its last answer; null if it reports no limit. */
  quota: z.object({ unit: z.string(), used: count, limit: count, read_at: time }).nullable(),
});

/** A scheduled export. */
const ExportOverview = z.object({
  export: z.string(),
  type: z.enum(['directory', 's3']),
  /** A directory, or `s3://bucket/prefix`. */
  target: z.string(),
  /** Interval; null if the export runs daily, at the time `at` in `timezone`. */
  every_seconds: z.number().nullable(),
  at: z.string().nullable(),
  timezone: z.string().nullable(),
  /** `new` means that no run has finished yet. */
  state: z.enum(['new', 'made', 'running', 'failed']),
  /** Start of the last successful run; `place`, `rows` and `bytes` describe its result. */
  last_success_at: time.nullable(),
  place: z.string().nullable(),
  rows: count.nullable(),
  bytes: count.nullable(),
  next_at: time.nullable(),
  /** Consecutive failures since the last successful run. */
  failures: count,
  last_error: z.string().nullable(),
});

/** A scheduled backup. `leads` is the number of leads in the last one. */
const BackupOverview = ExportOverview.omit({ export: true, rows: true }).extend({
  backup: z.string(),
  leads: count.nullable(),
});

/**
 * Time taken to deliver to a sink the leads that were first seen in the last 24 hours: median and 95th percentile, in seconds. Excludes
 * backfills, and leads that already existed when leadsync first polled their source.
 */
export const SpeedToLead = z.object({
  sink: z.string(),
  /** Number of measured leads: all leads of the period, or at most 1,000 that are spread evenly over it. */
  leads: count,
  seen_to_delivered_p50_seconds: z.number().nullable(),
  seen_to_delivered_p95_seconds: z.number().nullable(),
  created_to_delivered_p50_seconds: z.number().nullable(),
  created_to_delivered_p95_seconds: z.number().nullable(),
});

/** A process that works on a ledger in PostgreSQL, on any machine. */
const MachineOverview = z.object({
  machine: z.string(),
  role: z.string(),
  /** `missing` means that it was killed, is frozen or cannot reach the ledger. It is listed until 10 minutes after it was last seen, or until it is replaced. */
  state: z.enum(['works', 'missing']),
  version: z.string().nullable(),
  /** The same for all processes whose configurations agree. Excludes secrets and options that belong to one machine, such as `data_dir`. */
  config_fingerprint: z.string().nullable(),
  /** How far the clock of the machine is ahead of the clock of the ledger's server; negative if it is behind. */
  clock_ahead_seconds: z.number().nullable(),
  started_at: time,
  last_seen_at: time,
  /** The sinks that it dispatches to; empty for a worker. */
  sinks: z.array(z.string()),
  /** The work that it does for all processes, such as `poll:main`, `dispatch:crm` or `alerts`. */
  duties: z.array(z.string()),
});

/** State of the whole installation at the time `at`. leadsync caches the answer for 1 s, so `at` can be earlier than the request. */
export const Overview = z.object({
  version: z.string(),
  at: time,
  /** The name of the installation. */
  installation: z.string().nullable(),
  /** Whether `problems` is empty. */
  healthy: z.boolean(),
  problems: z.array(Problem),
  sources: z.array(SourceOverview),
  sinks: z.array(SinkOverview),
  exports: z.array(ExportOverview),
  backups: z.array(BackupOverview),
  /** The processes on a ledger in PostgreSQL, in the order of their machines. Empty for a ledger in a file, on which one machine works. */
  machines: z.array(MachineOverview),
  /** New leads in each of the last 48 hours, oldest first, with 0 for an hour without one. */
  leads_per_hour: z.array(z.object({ hour: time, leads: count })),
  speed_to_lead: z.array(SpeedToLead),
  /** The attempts of each sink in the last hour, accurate to ten minutes. `success_rate` is the share that delivered; null without attempts. */
  attempts_last_hour: z.array(
    z.object({
      sink: z.string(),
      delivered: count,
      refused: count,
      unavailable: count,
      success_rate: z.number().nullable(),
    }),
  ),
  /**
   * Delivered leads per minute, of all sinks together: on average over the last 10 to 20 minutes, and over 20 minutes an hour before. leadsync sums
   * attempts up in intervals of ten minutes.
   */
  delivered_per_minute: z.object({ now: z.number(), hour_ago: z.number() }),
});

export type SourceOverview = z.infer<typeof SourceOverview>;
export type SinkOverview = z.infer<typeof SinkOverview>;
export type Overview = z.infer<typeof Overview>;
