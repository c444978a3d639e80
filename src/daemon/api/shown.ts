import type {
  Content,
  DeliveryRow as DeliveryModel,
  LeadDetail,
  LeadRow as LeadModel,
  Overview,
  PollRow as PollModel,
  SinkOverview,
} from '../../admin/contract/model.ts';
import type { ExportTarget } from '../../exports/contract/options.ts';
import type {
  KeptAttempt,
  KeptPoll,
  KeptVersion,
  LeadContent,
  LeadHistory,
  LeadRow,
  Speed,
} from '../../ledger/contract/answers.ts';
import type { DeliveryRow } from '../../ledger/contract/shown.ts';
import type { ExportView } from '../../status/export-view.ts';
import { readPollError } from '../../status/poll-error.ts';
import type { SinkView, SourceView } from '../../status/status-view.ts';

/** How pages and API name what the ledger knows. */

/** A source in the overview. One that the ledger does not know yet has zeros and nulls; freshness is never negative. */
export function shownSource({ name, status }: SourceView, now: Date): Overview['sources'][number] {
  const poll = status?.lastPoll;
  const successAt = status?.lastSuccessAt;
  return {
    source: name,
    leads: status?.leads ?? 0,
    leads_listed: status?.listed ?? 0,
    leads_rejected: status?.rejected ?? 0,
    last_poll_at: iso(poll?.startedAt),
    last_poll_status: poll?.status ?? null,
    last_success_at: iso(successAt),
    freshness_seconds: successAt ? Math.max(0, (now.getTime() - successAt.getTime()) / 1000) : null,
    error: reasonOf(poll?.error),
  };
}

/**
 * A sink; `new` and `retrying` are shown as healthy. Reason and time are those of the pause while it is paused, else of
 * the hold. What is paused, disabled or not in the configuration has no next attempt.
 */
export function shownSink({ name, state, config, status }: SinkView): SinkOverview {
  const health = status?.health;
  const [reason, since] =
    state === 'paused'
      ? [health?.pausedReason, health?.pausedSince]
      : [health?.heldReason, health?.heldSince];
  const isTried = state === 'held' || state === 'retrying' || state === 'healthy';
  const nextAttemptAt = isTried ? (health?.probeAt ?? status?.retrying?.nextAttemptAt) : undefined;
  return {
    sink: name,
    type: config?.type.type ?? null,
    state: state === 'retrying' || state === 'new' ? 'healthy' : state,
    reason: reason ?? null,
    since: iso(since),
    pending: status?.pending ?? 0,
    retrying: status?.retrying?.deliveries ?? 0,
    delivered: status?.delivered ?? 0,
    dead: status?.dead ?? 0,
    skipped: status?.skipped ?? 0,
    oldest_owed_at: iso(status?.oldestOwedAt),
    last_delivered_at: iso(health?.lastDeliveredAt),
    next_attempt_at: iso(nextAttemptAt),
  };
}

/** An export with what is remembered of its runs; `next_at` lies in the past where it is overdue. */
export function shownExport(view: ExportView): Overview['exports'][number] {
  const { config, state, dueAt } = view;
  const { done, failed } = state ?? {};
  const { schedule } = config;
  return {
    export: config.name,
    type: config.target.type,
    target: targetOf(config.target),
    every_seconds: 'everyMs' in schedule ? schedule.everyMs / 1000 : null,
    at: 'at' in schedule ? schedule.at : null,
    timezone: 'at' in schedule ? schedule.timezone : null,
    state: stateOf(view),
    last_success_at: iso(done?.startedAt),
    place: done?.place ?? null,
    rows: done?.rows ?? null,
    bytes: done?.bytes ?? null,
    next_at: iso(dueAt),
    failures: failed?.times ?? 0,
    last_error: failed?.message ?? null,
  };
}

function stateOf({ state, running }: ExportView): Overview['exports'][number]['state'] {
  if (running) return 'running';
  if (state?.failed) return 'failed';
  return state?.done ? 'made' : 'new';
}

function targetOf(target: ExportTarget): string {
  return target.type === 's3' ? `s3://${target.bucket}/${target.prefix}` : target.directory;
}

/** How fast a sink got leads: seconds, where the ledger has ms; null where there is nothing to tell from. */
export function shownSpeed({
  sink,
  leads,
  seenToDelivered,
  createdToDelivered,
}: Speed): Overview['speed_to_lead'][number] {
  return {
    sink,
    leads,
    seen_to_delivered_p50_seconds: seconds(seenToDelivered?.p50),
    seen_to_delivered_p95_seconds: seconds(seenToDelivered?.p95),
    created_to_delivered_p50_seconds: seconds(createdToDelivered?.p50),
    created_to_delivered_p95_seconds: seconds(createdToDelivered?.p95),
  };
}

/** A lead without its content; times, in ms since 1970, become text. */
export function shownLead({
  source,
  lead,
  service,
  version,
  createdAt,
  firstSeenAt,
  changedAt,
  lastListedAt,
  goneAt,
}: LeadRow): LeadModel {
  return {
    source,
    lead_id: lead,
    service_slug: service,
    version,
    created_at: createdAt === null ? null : isoOf(createdAt),
    first_seen_at: isoOf(firstSeenAt),
    changed_at: isoOf(changedAt),
    last_listed_at: lastListedAt === null ? null : isoOf(lastListedAt),
    gone_at: goneAt === null ? null : isoOf(goneAt),
  };
}

/** What became of a lead, in the order of the ledger. Neither a content nor an answer of a destination is in it. */
export function shownHistory({ lead, versions, deliveries }: LeadHistory): LeadDetail {
  return {
    lead: shownLead(lead),
    versions: versions.map(shownVersion),
    deliveries: deliveries.map(({ attemptRows, ...delivery }) => ({
      ...shownDelivery(delivery),
      attempt_rows: attemptRows.map(shownAttempt),
    })),
  };
}

function shownVersion({ version, validFrom, poll, changedFields }: KeptVersion) {
  return {
    version,
    valid_from: isoOf(validFrom),
    poll_id: poll,
    changed_fields: changedFields === null ? null : [...changedFields],
  };
}

function shownAttempt({ startedAt, durationMs, outcome, httpStatus, error, times, lastAt }: KeptAttempt) {
  return {
    started_at: isoOf(startedAt),
    duration_ms: durationMs,
    outcome,
    http_status: httpStatus,
    error,
    times,
    last_started_at: lastAt === null ? null : isoOf(lastAt),
  };
}

/** One content and the answers to it: personal data. Which lead it is of, whoever asked adds. */
export function shownContent(content: LeadContent): Omit<Content, 'source' | 'lead_id'> {
  const { raw, rawBefore, answers } = content;
  return {
    ...shownVersion(content),
    raw,
    raw_before: rawBefore,
    answers: answers.map(({ delivery, sink, startedAt, outcome, httpStatus, answer }) => ({
      delivery_id: delivery,
      sink,
      started_at: isoOf(startedAt),
      outcome,
      http_status: httpStatus,
      answer,
    })),
  };
}

/** A delivery without its attempts; what is undefined becomes null. */
export function shownDelivery(row: DeliveryRow): DeliveryModel {
  return {
    delivery_id: row.delivery,
    source: row.source,
    lead_id: row.lead,
    lead_version: row.version,
    sink: row.sink,
    event: row.event,
    state: row.state,
    reason: row.reason ?? null,
    attempts: row.attempts,
    replay: row.replay,
    owed_at: row.owedAt.toISOString(),
    next_attempt_at: iso(row.nextAttemptAt),
    settled_at: iso(row.settledAt),
  };
}

/** A poll with how long it took, in ms: null while it runs, and never negative. The error loses its code. */
export function shownPoll(poll: KeptPoll): PollModel {
  const { started_at, finished_at, error } = poll;
  const durationMs =
    finished_at === null ? null : Math.max(0, Date.parse(finished_at) - Date.parse(started_at));
  return { ...poll, duration_ms: durationMs, error: reasonOf(error) };
}

function reasonOf(error: string | null | undefined): string | null {
  return typeof error === 'string' ? readPollError(error).reason : null;
}

function iso(at: Date | undefined): string | null {
  return at?.toISOString() ?? null;
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : ms / 1000;
}
