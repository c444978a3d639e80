import { z } from 'zod';

/**
 * What the pages and the API show, in one shape: as JSON over HTTP, and handed to the pages as it is. Names are those of
 * the store (docs/store.md). Times are UTC, `YYYY-MM-DDTHH:MM:SS.sssZ`. Nothing here holds a lead's content but `Content`.
 */

const time = z.iso.datetime({ precision: 3 });
/** Ids go up to 2^63: as text, so that no reader rounds one. */
const leadId = z.string().regex(/^\d{1,19}$/);
const count = z.int().nonnegative();

/** A page of rows, newest first; `next` goes on where it ends. */
export const pageOf = <Row extends z.ZodType>(row: Row) =>
  z.object({ rows: z.array(row).readonly(), next: z.string().nullable() });

const PollStatus = z.enum(['running', 'success', 'unchanged', 'partial', 'failed']);

/** How far a delivery has come. */
export const DeliveryState = z.enum(['pending', 'delivered', 'dead', 'skipped']);

/** A thing that is wrong, in words, with what to do next; `about` names the source, sink or export. */
const Trouble = z.object({
  severity: z.enum(['warning', 'critical']),
  about: z.string().nullable(),
  what: z.string(),
  next: z.string(),
});

const SourceOverview = z.object({
  source: z.string(),
  leads: count,
  leads_listed: count,
  leads_rejected: count,
  last_poll_at: time.nullable(),
  last_poll_status: PollStatus.nullable(),
  last_success_at: time.nullable(),
  /** Seconds since the listing was last known to its end. */
  freshness_seconds: z.number().nullable(),
  error: z.string().nullable(),
});

/** How a sink is, and what it is owed. */
export const SinkOverview = z.object({
  sink: z.string(),
  type: z.string().nullable(),
  /** `orphaned`: the configuration no longer has it, and deliveries of it are kept. */
  state: z.enum(['healthy', 'held', 'paused', 'disabled', 'orphaned']),
  /** Why it is held or paused. */
  reason: z.string().nullable(),
  since: time.nullable(),
  pending: count,
  retrying: count,
  delivered: count,
  dead: count,
  skipped: count,
  oldest_owed_at: time.nullable(),
  last_delivered_at: time.nullable(),
  next_attempt_at: time.nullable(),
});

/** A scheduled export. */
const ExportOverview = z.object({
  export: z.string(),
  type: z.enum(['directory', 's3']),
  /** A folder, or `s3://bucket/prefix`. */
  target: z.string(),
  /** Either this, or `at` an hour of the day in a time zone. */
  every_seconds: z.number().nullable(),
  at: z.string().nullable(),
  timezone: z.string().nullable(),
  /** `new`: none was made, and none has failed. */
  state: z.enum(['new', 'made', 'running', 'failed']),
  /** When the last one that was made began, and what it is. */
  last_success_at: time.nullable(),
  place: z.string().nullable(),
  rows: count.nullable(),
  bytes: count.nullable(),
  next_at: time.nullable(),
  /** In a row, since the last one that was made. */
  failures: count,
  last_error: z.string().nullable(),
});

/** How fast leads that were first seen in the last 24 hours arrived, in seconds. */
/** Of the leads first seen in the last 24 hours, without those that were there before leadsync first listed their source, and without backfills. */
const SpeedToLead = z.object({
  sink: z.string(),
  leads: count,
  seen_to_delivered_p50_seconds: z.number().nullable(),
  seen_to_delivered_p95_seconds: z.number().nullable(),
  created_to_delivered_p50_seconds: z.number().nullable(),
  created_to_delivered_p95_seconds: z.number().nullable(),
});

/**
 * How everything is as of `at`, which may be a moment ago: one answer is shared by all who ask at about the same time.
 */
export const Overview = z.object({
  version: z.string(),
  at: time,
  /** Nothing is wrong that anybody has to do something about. */
  well: z.boolean(),
  troubles: z.array(Trouble),
  sources: z.array(SourceOverview),
  sinks: z.array(SinkOverview),
  exports: z.array(ExportOverview),
  /** New leads in each of the last 48 hours, the oldest first; hours without one are there with 0. */
  leads_per_hour: z.array(z.object({ hour: time, leads: count })),
  speed_to_lead: z.array(SpeedToLead),
});

/**
 * Which leads are looked for: all that are given must hold. With a `service` and no `lead`, the times are of when a
 * lead came to it; with `listing=gone`, of when it was first missing from a complete listing.
 */
export const LeadSearch = z.object({
  source: z.string().optional(),
  lead: leadId.optional(),
  service: z.string().optional(),
  /** Whether the source still lists the lead. `gone`: those that vanished last come first. */
  listing: z.enum(['current', 'gone']).optional(),
  /** First seen at or after, and before. */
  since: time.optional(),
  until: time.optional(),
});

/** A lead without its content. */
export const LeadRow = z.object({
  source: z.string(),
  lead_id: leadId,
  service_slug: z.string().nullable(),
  version: count,
  created_at: time.nullable(),
  first_seen_at: time,
  changed_at: time,
  /** When a complete listing last had the lead; null while it is listed. */
  last_listed_at: time.nullable(),
  /** When the lead was first missing from a complete listing; null while it is listed. */
  gone_at: time.nullable(),
});

/** One attempt, or several that failed alike one after another. */
const AttemptRow = z.object({
  started_at: time,
  duration_ms: z.number(),
  outcome: z.string(),
  http_status: z.int().nullable(),
  error: z.string().nullable(),
  times: count,
  last_started_at: time.nullable(),
});

/** A delivery: one content of one lead, owed to one sink. */
export const DeliveryRow = z.object({
  delivery_id: z.string(),
  source: z.string(),
  lead_id: leadId,
  lead_version: count,
  sink: z.string(),
  event: z.string(),
  state: DeliveryState,
  reason: z.string().nullable(),
  attempts: count,
  replay: z.boolean(),
  owed_at: time,
  next_attempt_at: time.nullable(),
  settled_at: time.nullable(),
});

/** A content that a lead has had, without it. */
const Version = z.object({
  version: count,
  valid_from: time,
  poll_id: z.int(),
  /** Null for the first. */
  changed_fields: z.array(z.string()).nullable(),
});

/**
 * What became of one lead: versions and deliveries, the newest first, and each delivery's attempts, the oldest first.
 */
export const LeadDetail = z.object({
  lead: LeadRow,
  versions: z.array(Version),
  deliveries: z.array(DeliveryRow.extend({ attempt_rows: z.array(AttemptRow) })),
});

/** A lead's content in one of its versions, and what destinations answered, which may repeat it: personal data. Whoever reads it is written to the audit log. */
export const Content = z.object({
  source: z.string(),
  lead_id: leadId,
  ...Version.shape,
  /** As the service listed it. */
  raw: z.string(),
  /** The same of the version before; null for the first. */
  raw_before: z.string().nullable(),
  /** The newest first; as much of each as is kept. */
  answers: z.array(
    z.object({
      delivery_id: z.string(),
      sink: z.string(),
      started_at: time,
      outcome: z.string(),
      http_status: z.int().nullable(),
      answer: z.string(),
    }),
  ),
});

/** Which deliveries are meant: all that are given must hold. A `lead` without a `source` is of every source. */
export const DeliveryFilter = z.object({
  sink: z.string().optional(),
  source: z.string().optional(),
  lead: leadId.optional(),
  delivery: z.string().optional(),
  state: DeliveryState.optional(),
  /** Owed at or after, and before. */
  since: time.optional(),
  until: time.optional(),
});

/** Which polls are meant: all that are given must hold. */
export const PollFilter = z.object({
  source: z.string().optional(),
  status: PollStatus.optional(),
});

/** A poll: one reading of a source. */
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
});

/** One value of the configuration in force, with where it comes from; secrets are masked. */
const ConfigValue = z.object({
  /** `sinks.crm.url` */
  path: z.string(),
  value: z.string(),
  /** `leadsync.yaml:12`, `environment LEADS_CLIENT_ID`, `file /run/secrets/x`, `default` */
  origin: z.string(),
});

/** The configuration in force, and since when its file is not valid, if it is not. */
export const Configuration = z.object({
  generation: count,
  loaded_at: time,
  stale: z.object({ since: time, faults: z.array(z.string()) }).nullable(),
  values: z.array(ConfigValue),
});

/** What came of a reload; it says more, which differs by `applied`. */
export const ReloadResult = z.looseObject({ applied: z.boolean(), generation: count });

/** What a test event came to. */
export const TestResult = z.object({
  arrived: z.boolean(),
  duration_ms: z.number(),
  /** In words, with what to do next when it did not arrive. */
  what: z.string(),
});

export type Overview = z.infer<typeof Overview>;
export type LeadSearch = z.infer<typeof LeadSearch>;
export type LeadRow = z.infer<typeof LeadRow>;
export type LeadDetail = z.infer<typeof LeadDetail>;
export type Content = z.infer<typeof Content>;
export type DeliveryFilter = z.infer<typeof DeliveryFilter>;
export type DeliveryRow = z.infer<typeof DeliveryRow>;
export type SinkOverview = z.infer<typeof SinkOverview>;
export type PollFilter = z.infer<typeof PollFilter>;
export type PollRow = z.infer<typeof PollRow>;
export type Configuration = z.infer<typeof Configuration>;
export type TestResult = z.infer<typeof TestResult>;
