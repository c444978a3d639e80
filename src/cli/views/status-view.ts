import type { LedgerConfig } from '../../config/contract/config.ts';
import type { LedgerStatus, PollRow } from '../../ledger/contract/shown.ts';
import type { ExportView } from '../../status/export-view.ts';
import { type SinkView, type SourceView, viewSinks, viewSources } from '../../status/status-view.ts';

/** The status for scripts, by the names of the store's columns. What is absent is null. */
export function statusJson(config: LedgerConfig, status: LedgerStatus, exports: readonly ExportView[]) {
  return {
    sources: viewSources(config, status).map(sourceJson),
    sinks: viewSinks(config, status).map(sinkJson),
    exports: exports.map(exportJson),
  };
}

function sourceJson({ name, config, status }: SourceView) {
  return {
    source: name,
    configured: config !== undefined,
    leads: status?.leads ?? 0,
    leads_listed: status?.listed ?? 0,
    leads_rejected: status?.rejected ?? 0,
    last_success_at: status?.lastSuccessAt ?? null,
    last_poll: status?.lastPoll ? pollJson(status.lastPoll) : null,
  };
}

function pollJson(poll: PollRow) {
  return {
    poll_id: poll.poll,
    started_at: poll.startedAt,
    finished_at: poll.finishedAt ?? null,
    status: poll.status,
    leads_listed: poll.listed,
    leads_new: poll.new,
    leads_changed: poll.changed,
    leads_rejected: poll.rejected,
    error: poll.error ?? null,
  };
}

function sinkJson({ name, state, config, status }: SinkView) {
  const health = status?.health;
  return {
    sink: name,
    type: config?.type.type ?? null,
    state,
    delivered: status?.delivered ?? 0,
    pending: status?.pending ?? 0,
    dead: status?.dead ?? 0,
    skipped: status?.skipped ?? 0,
    oldest_owed_at: status?.oldestOwedAt ?? null,
    retrying: status?.retrying?.deliveries ?? 0,
    last_error: status?.retrying?.reason ?? null,
    next_attempt_at: status?.retrying?.nextAttemptAt ?? null,
    last_delivered_at: health?.lastDeliveredAt ?? null,
    held_since: health?.heldSince ?? null,
    held_reason: health?.heldReason ?? null,
    probe_at: health?.probeAt ?? null,
    paused_since: health?.pausedSince ?? null,
    paused_reason: health?.pausedReason ?? null,
  };
}

function exportJson({ config: { name, target }, state, dueAt, running }: ExportView) {
  const { done, failed } = state ?? {};
  return {
    export: name,
    type: target.type,
    running,
    last_success_at: done?.startedAt ?? null,
    place: done?.place ?? null,
    rows: done?.rows ?? null,
    bytes: done?.bytes ?? null,
    next_at: dueAt ?? null,
    failures: failed?.times ?? 0,
    last_error: failed?.message ?? null,
  };
}
