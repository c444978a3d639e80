import type { LedgerConfig } from '../config/contract/config.ts';
import { isBackup } from '../exports/contract/options.ts';
import { runbookOf, runbookUrlOf } from '../leads/problems.ts';
import type { Quota } from '../leads/quota.ts';
import type { Speed } from '../ledger/contract/page-rows.ts';
import type { LedgerStatus, PollRow } from '../ledger/contract/status-rows.ts';
import { breakerJson } from './breaker-json.ts';
import { backupJson, exportJson } from './export-json.ts';
import type { ExportView } from './export-view.ts';
import { iso, reasonOf, seconds } from './json-values.ts';
import { nextAttemptAt } from './next-attempt.ts';
import { nextPollAt } from './next-poll.ts';
import { readPollError } from './poll-error.ts';
import { sinkProblemCodes } from './problems/find-problems.ts';
import type { Problem } from './problems/problem.ts';
import { lastFailedPoll, sourceProblemCodes } from './problems/source-problems.ts';
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
    exports: exports.filter(({ config: one }) => !isBackup(one)).map(exportJson),
    backups: exports.filter(({ config: one }) => isBackup(one)).map(backupJson),
    machines: machinesJson(status),
  };
}

/** Returns the processes on a ledger that several machines may use; an empty list for a ledger in a file. */
export function machinesJson({ machines }: LedgerStatus) {
  return (machines?.processes ?? []).map((one) => ({
    machine: one.machine,
    role: one.role,
    state: one.isMissing ? ('missing' as const) : ('works' as const),
    version: one.facts?.version ?? null,
    config_fingerprint: one.facts?.config ?? null,
    clock_ahead_seconds: one.facts ? one.facts.clockAheadMs / 1000 : null,
    started_at: one.startedAt.toISOString(),
    last_seen_at: one.seenAt.toISOString(),
    sinks: [...one.sinks],
    duties: [...one.duties],
  }));
}

/**
 * Returns the verdict of `status --json`: whether everything is in order, and the problems that need attention. `publicUrl` is the address of the
 * pages, if it is known.
 */
export function verdictJson(
  problems: readonly Problem[],
  faults: readonly string[],
  publicUrl: string | undefined,
) {
  const healthy = problems.length === 0 && faults.length === 0;
  return { healthy, problems: problems.map((one) => problemJson(one, publicUrl)), config_faults: faults };
}

/** Returns a problem for `status --json` and the overview. */
export function problemJson(
  { code, severity, about, message, nextStep }: Problem,
  publicUrl: string | undefined,
) {
  const runbook = { runbook: runbookOf(code), runbook_url: runbookUrlOf(code, publicUrl) ?? null };
  return { code, severity, about, message, next_step: nextStep, ...runbook };
}

function sourceJson(view: SourceView) {
  const poll = view.status?.lastPoll;
  return {
    ...sourceFacts(view),
    configured: view.config !== undefined,
    last_poll: poll ? lastPollJson(poll) : null,
    next_poll_at: iso(nextPollAt(view)),
  };
}

/**
 * Returns a source for the overview. Its freshness is never negative. `retryAt` is when leadsync retries the failed last poll; undefined if
 * it did not fail.
 */
export function sourceOverview(view: SourceView, now: Date, retryAt?: Date) {
  const { lastPoll: poll, lastSuccessAt: successAt } = view.status ?? {};
  const failure = lastFailedPoll(view.status);
  return {
    ...sourceFacts(view),
    last_poll_at: iso(poll?.startedAt),
    last_poll_status: poll?.status ?? null,
    freshness_seconds: successAt ? Math.max(0, (now.getTime() - successAt.getTime()) / 1000) : null,
    error: reasonOf(failure?.error),
    error_code: failure?.error === undefined ? null : (readPollError(failure.error).code ?? null),
    failing_since: iso(failure && view.status?.failingSince),
    next_poll_at: iso(nextPollAt(view, retryAt)),
    problems: sourceProblemCodes(view, now),
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

/** Returns a poll without its source, named like the columns of `polls`. */
export function lastPollJson(poll: PollRow) {
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
export function sinkOverview(view: SinkView, now: Date) {
  const { state, status } = view;
  const health = status?.health;
  const [reason, since] =
    state === 'paused'
      ? [health?.pausedReason, health?.pausedSince]
      : [health?.heldReason, health?.heldSince];
  return {
    ...sinkFacts(view),
    state: state === 'retrying' || state === 'new' ? ('healthy' as const) : state,
    reason: reason ?? null,
    since: iso(since),
    problems: sinkProblemCodes(view, now),
    next_attempt_at: iso(nextAttemptAt(view)),
  };
}

function sinkFacts(view: SinkView) {
  const { name, config, status } = view;
  return {
    sink: name,
    type: config?.type.type ?? null,
    formerly: config?.formerly ?? null,
    pending: status?.pending ?? 0,
    retrying: status?.retrying?.deliveries ?? 0,
    replays_pending: status?.replays ?? 0,
    delivered: status?.delivered ?? 0,
    dead: status?.dead ?? 0,
    skipped: status?.skipped ?? 0,
    left_out_since_delivered: status?.leftOut ?? 0,
    oldest_owed_at: iso(status?.oldestOwedAt),
    last_delivered_at: iso(status?.health.lastDeliveredAt),
    breaker: breakerJson(view),
    quota: quotaJson(status?.health.quota),
  };
}

function quotaJson(quota: Quota | undefined) {
  return quota
    ? { unit: quota.unit, used: quota.used, limit: quota.limit, read_at: quota.readAt.toISOString() }
    : null;
}

/** Returns the speeds of the sinks in the order of `sinks`, those of removed sinks last. Omits a removed sink without a measured lead. */
export function speedsJson(speeds: readonly Speed[], sinks: readonly Pick<SinkView, 'name'>[]) {
  const names = sinks.map(({ name }) => name);
  const place = ({ sink }: Speed) => (names.includes(sink) ? names.indexOf(sink) : names.length);
  return speeds
    .filter(({ sink, leads }) => leads > 0 || names.includes(sink))
    .toSorted((one, other) => place(one) - place(other))
    .map(speedJson);
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
