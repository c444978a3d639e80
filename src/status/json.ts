import type { LedgerConfig } from '../config/contract/config.ts';
import { type ExportTarget, isBackup } from '../exports/contract/options.ts';
import { runbookOf } from '../leads/problems.ts';
import type { Quota } from '../leads/quota.ts';
import type {
  LeadContent,
  LeadHistory,
  LeadRow,
  Speed,
  StoredAttempt,
  StoredPoll,
  StoredVersion,
} from '../ledger/contract/page-rows.ts';
import type { DeliveryRow, LedgerStatus, PollRow } from '../ledger/contract/status-rows.ts';
import type { ExportView } from './export-view.ts';
import { readPollError } from './poll-error.ts';
import type { Problem } from './problem.ts';
import { type SinkView, type SourceView, viewSinks, viewSources } from './status-view.ts';

/**
 * The state in the ledger as JSON for `--json`, the API and the pages. Fields are named like the columns of the store. Times are ISO 8601
 * text, and a missing value is null.
 */

/** Returns the output of `status --json`. */
export function statusJson(config: LedgerConfig, status: LedgerStatus, exports: readonly ExportView[]) {
  return {
    sources: viewSources(config, status).map(sourceJson),
    sinks: viewSinks(config, status).map(sinkJson),
    exports: exports
      .filter(({ config: one }) => !isBackup(one))
      .map((view) => ({ ...exportFacts(view), running: view.running })),
    backups: exports
      .filter(({ config: one }) => isBackup(one))
      .map((view) => ({ ...backupFacts(view), running: view.running })),
  };
}

/** Returns the verdict of `status --json`: whether nothing needs attention, and otherwise what does. */
export function verdictJson(problems: readonly Problem[], faults: readonly string[]) {
  const healthy = problems.length === 0 && faults.length === 0;
  return { healthy, problems: problems.map(problemJson), config_faults: faults };
}

/** Returns a problem for `status --json` and the overview. */
export function problemJson({ code, severity, about, message, nextStep }: Problem) {
  return { code, severity, about, message, next_step: nextStep, runbook: runbookOf(code) };
}

function sourceJson(view: SourceView) {
  const poll = view.status?.lastPoll;
  return {
    ...sourceFacts(view),
    configured: view.config !== undefined,
    last_poll: poll ? lastPollJson(poll) : null,
  };
}

/** Returns a source for the overview. Its freshness is never negative. */
export function sourceOverview(view: SourceView, now: Date) {
  const { lastPoll: poll, lastSuccessAt: successAt } = view.status ?? {};
  return {
    ...sourceFacts(view),
    last_poll_at: iso(poll?.startedAt),
    last_poll_status: poll?.status ?? null,
    freshness_seconds: successAt ? Math.max(0, (now.getTime() - successAt.getTime()) / 1000) : null,
    error: reasonOf(poll?.error),
  };
}

/** Returns the counts of a source. They are zeros and nulls if the ledger does not know the source yet. */
function sourceFacts({ name, status }: SourceView) {
  return {
    source: name,
    leads: status?.leads ?? 0,
    leads_listed: status?.listed ?? 0,
    leads_rejected: status?.rejected ?? 0,
    last_success_at: iso(status?.lastSuccessAt),
  };
}

function lastPollJson(poll: PollRow) {
  return {
    poll_id: poll.poll,
    started_at: iso(poll.startedAt),
    finished_at: iso(poll.finishedAt),
    status: poll.status,
    leads_listed: poll.listed,
    leads_new: poll.new,
    leads_changed: poll.changed,
    leads_rejected: poll.rejected,
    error: poll.error ?? null,
  };
}

function sinkJson(view: SinkView) {
  const { health, retrying } = view.status ?? {};
  return {
    ...sinkFacts(view),
    state: view.state,
    last_error: retrying?.reason ?? null,
    next_attempt_at: iso(retrying?.nextAttemptAt),
    held_since: iso(health?.heldSince),
    held_reason: health?.heldReason ?? null,
    probe_at: iso(health?.probeAt),
    paused_since: iso(health?.pausedSince),
    paused_reason: health?.pausedReason ?? null,
  };
}

/**
 * Returns a sink for the overview. Maps the states `new` and `retrying` to `healthy`. The reason and time of a paused sink are those of the
 * pause; for any other sink, they are those of the hold. Only a sink that is held, retrying or healthy has a next attempt.
 */
export function sinkOverview(view: SinkView) {
  const { state, status } = view;
  const health = status?.health;
  const [reason, since] =
    state === 'paused'
      ? [health?.pausedReason, health?.pausedSince]
      : [health?.heldReason, health?.heldSince];
  const isTried = state === 'held' || state === 'retrying' || state === 'healthy';
  const nextAttemptAt = isTried ? (health?.probeAt ?? status?.retrying?.nextAttemptAt) : undefined;
  return {
    ...sinkFacts(view),
    state: state === 'retrying' || state === 'new' ? ('healthy' as const) : state,
    reason: reason ?? null,
    since: iso(since),
    next_attempt_at: iso(nextAttemptAt),
  };
}

function sinkFacts({ name, config, status }: SinkView) {
  return {
    sink: name,
    type: config?.type.type ?? null,
    pending: status?.pending ?? 0,
    retrying: status?.retrying?.deliveries ?? 0,
    replays_pending: status?.replays ?? 0,
    delivered: status?.delivered ?? 0,
    dead: status?.dead ?? 0,
    skipped: status?.skipped ?? 0,
    left_out_since_delivered: status?.leftOut ?? 0,
    oldest_owed_at: iso(status?.oldestOwedAt),
    last_delivered_at: iso(status?.health.lastDeliveredAt),
    quota: quotaJson(status?.health.quota),
  };
}

function quotaJson(quota: Quota | undefined) {
  return quota
    ? { unit: quota.unit, used: quota.used, limit: quota.limit, read_at: quota.readAt.toISOString() }
    : null;
}

/** Returns an export for the overview. */
export function exportOverview(view: ExportView) {
  return { ...exportFacts(view), ...scheduleFacts(view) };
}

/** Returns a backup for the overview. */
export function backupOverview(view: ExportView) {
  return { ...backupFacts(view), ...scheduleFacts(view) };
}

function scheduleFacts(view: ExportView) {
  const { schedule, target } = view.config;
  return {
    target: targetOf(target),
    every_seconds: 'everyMs' in schedule ? schedule.everyMs / 1000 : null,
    at: 'at' in schedule ? schedule.at : null,
    timezone: 'at' in schedule ? schedule.timezone : null,
    state: stateOf(view),
  };
}

/** Returns the last results of an export. `next_at` is in the past if the export is overdue. */
function exportFacts({ config: { name, target }, state, dueAt }: ExportView) {
  const { done, failed } = state ?? {};
  return {
    export: name,
    type: target.type,
    last_success_at: iso(done?.startedAt),
    place: done?.place ?? null,
    rows: done?.rows ?? null,
    bytes: done?.bytes ?? null,
    next_at: iso(dueAt),
    failures: failed?.times ?? 0,
    last_error: failed?.message ?? null,
  };
}

function backupFacts(view: ExportView) {
  const { export: backup, rows: leads, ...facts } = exportFacts(view);
  return { backup, leads, ...facts };
}

function stateOf({ state, running }: ExportView): 'running' | 'failed' | 'made' | 'new' {
  if (running) return 'running';
  if (state?.failed) return 'failed';
  return state?.done ? 'made' : 'new';
}

function targetOf(target: ExportTarget): string {
  return target.type === 's3' ? `s3://${target.bucket}/${target.prefix}` : target.directory;
}

/** Returns the speed of a sink in seconds, or nulls if there is no lead to measure. */
export function speedJson({ sink, leads, seenToDelivered, createdToDelivered }: Speed) {
  return {
    sink,
    leads,
    seen_to_delivered_p50_seconds: seconds(seenToDelivered?.p50),
    seen_to_delivered_p95_seconds: seconds(seenToDelivered?.p95),
    created_to_delivered_p50_seconds: seconds(createdToDelivered?.p50),
    created_to_delivered_p95_seconds: seconds(createdToDelivered?.p95),
  };
}

/** Returns a lead without its content. Converts times from ms since 1970 to text. */
export function leadJson({
  source,
  lead,
  service,
  version,
  createdAt,
  firstSeenAt,
  changedAt,
  lastListedAt,
  goneAt,
}: LeadRow) {
  return {
    source,
    lead_id: lead,
    service_slug: service,
    version,
    created_at: iso(createdAt),
    first_seen_at: isoOf(firstSeenAt),
    changed_at: isoOf(changedAt),
    last_listed_at: iso(lastListedAt),
    gone_at: iso(goneAt),
  };
}

/** Returns the history of a lead, in the order of the ledger, without content and answers of destinations. */
export function historyJson({ lead, versions, deliveries }: LeadHistory) {
  return {
    lead: leadJson(lead),
    versions: versions.map(versionJson),
    deliveries: deliveries.map(({ attemptRows, ...delivery }) => ({
      ...deliveryJson(delivery),
      attempt_rows: attemptRows.map(attemptJson),
    })),
  };
}

function versionJson({ version, validFrom, poll, changedFields }: StoredVersion) {
  return {
    version,
    valid_from: isoOf(validFrom),
    poll_id: poll,
    changed_fields: changedFields === null ? null : [...changedFields],
  };
}

function attemptJson({ startedAt, durationMs, outcome, httpStatus, error, times, lastAt }: StoredAttempt) {
  return {
    started_at: isoOf(startedAt),
    duration_ms: durationMs,
    outcome,
    http_status: httpStatus,
    error,
    times,
    last_started_at: iso(lastAt),
  };
}

/** Returns a version's content and the answers of destinations (personal data). The caller adds the source and the id. */
export function contentJson(content: LeadContent) {
  const { raw, rawBefore, answers } = content;
  return {
    ...versionJson(content),
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

/** Returns a delivery without its attempts. */
export function deliveryJson(row: DeliveryRow) {
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
    discarded: row.discarded,
    ref: row.ref ? { ...row.ref, url: row.ref.url ?? null } : null,
  };
}

/** Returns a poll with its duration in ms, which is null while the poll runs and never negative. Removes the code from the error. */
export function pollJson(poll: StoredPoll) {
  const { started_at, finished_at, error } = poll;
  const durationMs =
    finished_at === null ? null : Math.max(0, Date.parse(finished_at) - Date.parse(started_at));
  return { ...poll, duration_ms: durationMs, error: reasonOf(error) };
}

function reasonOf(error: string | null | undefined): string | null {
  return typeof error === 'string' ? readPollError(error).reason : null;
}

function iso(at: Date | number | null | undefined): string | null {
  return at === null || at === undefined ? null : new Date(at).toISOString();
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : ms / 1000;
}
