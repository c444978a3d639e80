import { z } from 'zod';

/**
 * The shapes that the API returns as JSON and that the pages render. Fields are named as in the store (docs/store.md).
 * Times are UTC, `YYYY-MM-DDTHH:MM:SS.sssZ`. Only `Content` holds a lead's content.
 */

const time = z.iso.datetime({ precision: 3 });
/** Lead id, up to 2^63 − 1. It is text, because a JSON number above 2^53 loses digits. */
const leadId = z.string().regex(/^\d{1,19}$/);
const count = z.int().nonnegative();

/** Returns the schema of a page of rows, newest first. `next` is the cursor of the following page, or null at the end. */
export const pageOf = <Row extends z.ZodType>(row: Row) =>
  z.object({ rows: z.array(row).readonly(), next: z.string().nullable() });

const PollStatus = z.enum(['running', 'success', 'unchanged', 'partial', 'failed']);

/** State of a delivery. */
const DeliveryState = z.enum(['pending', 'delivered', 'dead', 'skipped']);

/** State to select deliveries by. A discarded delivery is skipped, and was dead before. */
export const SelectedState = z.enum([...DeliveryState.options, 'discarded']);

/** A problem in whole sentences, with its next step. `about` names the source, sink or export. */
const Problem = z.object({
  /** Stable id, such as `sink_held`; alerts use the same ids. */
  code: z.string(),
  severity: z.enum(['warning', 'critical']),
  about: z.string().nullable(),
  message: z.string(),
  next_step: z.string(),
  /** Section of the operating manual, as a path in the project. */
  runbook: z.string(),
});

const SourceOverview = z.object({
  source: z.string(),
  leads: count,
  leads_listed: count,
  leads_rejected: count,
  last_poll_at: time.nullable(),
  last_poll_status: PollStatus.nullable(),
  last_success_at: time.nullable(),
  /** Seconds since the last complete listing. */
  freshness_seconds: z.number().nullable(),
  error: z.string().nullable(),
});

/** State and backlog of a sink. */
export const SinkOverview = z.object({
  sink: z.string(),
  type: z.string().nullable(),
  /** `orphaned` means that the sink was removed from the configuration while the ledger still has pending deliveries for it. */
  state: z.enum(['healthy', 'held', 'paused', 'disabled', 'orphaned']),
  /** Reason of the hold or the pause. */
  reason: z.string().nullable(),
  since: time.nullable(),
  pending: count,
  retrying: count,
  /** Pending deliveries that replays owe. */
  replays_pending: count,
  delivered: count,
  dead: count,
  skipped: count,
  /** Leads that `where` has left out since a lead was last delivered, of the last 1,000 skipped leads at most. */
  left_out_since_delivered: count,
  oldest_owed_at: time.nullable(),
  last_delivered_at: time.nullable(),
  next_attempt_at: time.nullable(),
  /** How much of the destination's daily limit is used, as its last answer said; null if it reports none. */
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
 * Time in which the leads first seen in the last 24 hours were delivered to a sink: median and 95th percentile, in seconds. Excludes
 * backfills, and leads that already existed when leadsync first listed their source.
 */
const SpeedToLead = z.object({
  sink: z.string(),
  leads: count,
  seen_to_delivered_p50_seconds: z.number().nullable(),
  seen_to_delivered_p95_seconds: z.number().nullable(),
  created_to_delivered_p50_seconds: z.number().nullable(),
  created_to_delivered_p95_seconds: z.number().nullable(),
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
  /** New leads in each of the last 48 hours, oldest first, with 0 for an hour without one. */
  leads_per_hour: z.array(z.object({ hour: time, leads: count })),
  speed_to_lead: z.array(SpeedToLead),
});

/**
 * Filter for leads; a lead must match every field. `since` and `until` compare the time when the lead was first seen. With a
 * `service` and no `lead`, they compare the time when the lead came to that service; with `listing=gone`, the time of the first complete
 * listing without the lead.
 */
export const LeadSearch = z.object({
  source: z.string().optional(),
  lead: leadId.optional(),
  service: z.string().optional(),
  /** Whether the source still lists the lead. With `gone`, the leads that disappeared most recently come first. */
  listing: z.enum(['current', 'gone']).optional(),
  /** Inclusive start of the time range; `until` is its exclusive end. */
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
  /** Time of the last complete listing with the lead; null while it is listed. */
  last_listed_at: time.nullable(),
  /** Time of the first complete listing without the lead; null while it is listed. */
  gone_at: time.nullable(),
});

/** One attempt, or several consecutive attempts that failed in the same way. */
const AttemptRow = z.object({
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
  attempts: count,
  replay: z.boolean(),
  owed_at: time,
  next_attempt_at: time.nullable(),
  settled_at: time.nullable(),
  /** Whether it was dead until an operator discarded it. `reason` then has the note, and why it was dead. */
  discarded: z.boolean(),
  /** What the lead became at the destination; null if the destination did not say. */
  ref: z.object({ object: z.string(), id: z.string(), url: z.string().nullable() }).nullable(),
});

/** A version of a lead, without its content. */
const Version = z.object({
  version: count,
  valid_from: time,
  poll_id: z.int(),
  /** Null for the first version. */
  changed_fields: z.array(z.string()).nullable(),
});

/**
 * History of one lead: versions and deliveries, newest first, and the attempts of each delivery, oldest first.
 */
export const LeadDetail = z.object({
  lead: LeadRow,
  versions: z.array(Version),
  deliveries: z.array(DeliveryRow.extend({ attempt_rows: z.array(AttemptRow) })),
});

/**
 * Personal data: the content of a lead in one version, and the answers of destinations, which may repeat that content. The audit log
 * records each client that reads this data.
 */
export const Content = z.object({
  source: z.string(),
  lead_id: leadId,
  ...Version.shape,
  /** JSON text as the service listed it. */
  raw: z.string(),
  /** JSON text of the previous version; null for the first. */
  raw_before: z.string().nullable(),
  /** The newest answers, newest first, each truncated as in the ledger. */
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

/** A request, file or row that a sink would send, or the beginning of it. */
const SinkPreview = z.object({
  /** Kind and destination; secrets are masked. */
  target: z.string(),
  /** Headers of a request, or columns of a row. */
  fields: z.array(z.object({ name: z.string(), value: z.string() })),
  /** Body of a request or content of a file; null for a row. */
  content: z.string().nullable(),
  /** Whether a text is longer than `MAX_PREVIEWED` and only its beginning is here. */
  truncated: z.boolean(),
});

/**
 * Personal data: what each configured sink would get for a lead now. `leadsync preview` makes the same. The audit log records each client
 * that reads this data.
 */
export const LeadPreviews = z.object({
  source: z.string(),
  lead_id: leadId,
  sinks: z.array(
    z.object({
      sink: z.string(),
      type: z.string(),
      /** `withheld` means that the sink would not get the lead, for example because its mapping leaves it out or fails for it. */
      state: z.enum(['sent', 'withheld']),
      /** Why the sink would not get the lead, in a sentence; null if it would. */
      reason: z.string().nullable(),
      /** How the state of the delivery, or of the sink, affects whether this is sent; null if it does not. */
      note: z.string().nullable(),
      /** The fields that the mapping makes of the lead, each as JSON text; null if the sink gets the lead as received. */
      fields: z.array(z.object({ name: z.string(), json: z.string() })).nullable(),
      previews: z.array(SinkPreview),
    }),
  ),
});

/** What an expression can use. */
export const ExpressionLanguage = z.object({
  /** Each variable or field of one, and what it is: `lead.client_name`, `a text`. */
  variables: z.array(z.object({ name: z.string(), content: z.string() })),
  /** Each function of leadsync, and what it returns: `email(text)`. */
  functions: z.array(z.object({ usage: z.string(), result: z.string() })),
  /** Names of functions of CEL itself. */
  others: z.array(z.string()),
  /** Maximum characters of an expression. */
  max_characters: count,
});

/** The characters of an expression that cause a fault: offsets in UTF-16 code units, the end exclusive. */
const Place = z.object({ start: count, end: count });

/**
 * What an expression makes of a lead. Personal data, if the lead is not the sample lead: the audit log records each client that evaluates an
 * expression for a lead.
 */
export const TriedExpression = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('value'),
    /** What kind of value it is, in words: `text of 12 characters`. */
    type: z.string(),
    /** The value as JSON text, because a JSON number above 2^53 loses digits. */
    json: z.string(),
  }),
  z.object({
    /** `fault`: the expression is wrong for every lead. `failed`: it is right, and fails for this lead. */
    kind: z.enum(['fault', 'failed']),
    message: z.string(),
    /** Next step; may be empty. */
    hint: z.string(),
    /** Null if no part of the expression alone is the cause. */
    place: Place.nullable(),
  }),
]);

/** Filter for deliveries; a delivery must match every field. A `lead` without a `source` matches in every source. */
export const DeliveryFilter = z.object({
  sink: z.string().optional(),
  source: z.string().optional(),
  lead: leadId.optional(),
  delivery: z.string().optional(),
  state: SelectedState.optional(),
  /** A part of the reason, in upper or lower case, or the HTTP status of the last attempt. */
  reason: z.string().trim().min(1).max(200).optional(),
  /** Inclusive start of the time range in which the delivery was delivered; `delivered_until` is its exclusive end. */
  delivered_since: time.optional(),
  delivered_until: time.optional(),
  /** Inclusive start of the time range in which the delivery was owed; `until` is its exclusive end. */
  since: time.optional(),
  until: time.optional(),
});

/**
 * Filter for the leads to replay to a sink; a lead must match every field. `since` and `until` compare when the lead was first seen or last
 * changed. One delivery of the lead to the sink must match `state`, `reason`, `delivered_since` and `delivered_until`.
 */
export const ReplayFilter = DeliveryFilter.omit({ sink: true, delivery: true });

/** Number of leads that a replay would owe, their sources, and the given ids that select no lead. */
export const ReplayTotals = z.object({
  leads: count,
  sources: z.array(z.string()).readonly(),
  unmatched: z.array(z.string()).readonly(),
});

/**
 * What the cancellation of a sink's replays did: deliveries that are skipped, that stay because they are being attempted, and that stay
 * because the sink would otherwise miss a content that it was owed before.
 */
export const ReplayCancellation = z.object({ cancelled: count, attempted: count, needed: count });

/** Filter for polls; a poll must match every field. */
export const PollFilter = z.object({
  source: z.string().optional(),
  status: PollStatus.optional(),
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
});

/** A value of the configuration in force, with its origin. Secrets are masked. */
const ConfigValue = z.object({
  /** Path of the option, for example `sinks.crm.url`. */
  path: z.string(),
  value: z.string(),
  /** Where the value was set, for example `leadsync.yaml:12`, `environment LEADS_CLIENT_ID`, `file /run/secrets/x` or `default`. */
  origin: z.string(),
});

/** The configuration in force. `stale` is set while the file is not valid. */
export const Configuration = z.object({
  generation: count,
  loaded_at: time,
  stale: z.object({ since: time, faults: z.array(z.string()) }).nullable(),
  values: z.array(ConfigValue),
});

/** Result of a reload. Has the further fields `changes` and `restart` if the file was applied, otherwise `faults`. */
export const ReloadResult = z.looseObject({ applied: z.boolean(), generation: count });

/** Result of a test event. */
export const TestResult = z.object({
  arrived: z.boolean(),
  duration_ms: z.number(),
  /** What happened, with the next step if the event did not arrive. */
  what: z.string(),
});

export type Overview = z.infer<typeof Overview>;
export type LeadSearch = z.infer<typeof LeadSearch>;
export type LeadRow = z.infer<typeof LeadRow>;
export type LeadDetail = z.infer<typeof LeadDetail>;
export type Content = z.infer<typeof Content>;
export type LeadPreviews = z.infer<typeof LeadPreviews>;
export type ExpressionLanguage = z.infer<typeof ExpressionLanguage>;
export type TriedExpression = z.infer<typeof TriedExpression>;
export type DeliveryFilter = z.infer<typeof DeliveryFilter>;
export type ReplayFilter = z.infer<typeof ReplayFilter>;
export type ReplayTotals = z.infer<typeof ReplayTotals>;
export type ReplayCancellation = z.infer<typeof ReplayCancellation>;
export type DeliveryRow = z.infer<typeof DeliveryRow>;
export type SinkOverview = z.infer<typeof SinkOverview>;
export type PollFilter = z.infer<typeof PollFilter>;
export type PollRow = z.infer<typeof PollRow>;
export type Configuration = z.infer<typeof Configuration>;
export type TestResult = z.infer<typeof TestResult>;
