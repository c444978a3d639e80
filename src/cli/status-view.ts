import type { LedgerConfig } from '../config/config.ts';
import type { LedgerStatus, PollRow, SinkStatus, SourceStatus } from '../ledger/ledger.ts';

/**
 * How a sink is: `ok`; `held` while its destination does not take leads; `paused` by somebody; `disabled` in the
 * configuration; `removed` from it; `new` until leadsync has run with it; `retrying` while leads that failed wait to be
 * tried again, and others may get through.
 */
export type SinkState = 'ok' | 'held' | 'paused' | 'disabled' | 'removed' | 'new' | 'retrying';

/** A sink as the configuration and the ledger know it together. */
export interface SinkView {
  readonly name: string;
  readonly state: SinkState;
  readonly config: LedgerConfig['sinks'][number] | undefined;
  readonly status: SinkStatus | undefined;
}

/** A source as the configuration and the ledger know it together. */
export interface SourceView {
  readonly name: string;
  readonly config: LedgerConfig['sources'][number] | undefined;
  readonly status: SourceStatus | undefined;
}

/** Every sink: those configured in their order, then those that only the ledger remembers. */
export function viewSinks(config: LedgerConfig, { sinks }: LedgerStatus): SinkView[] {
  return pair(config.sinks, sinks, ({ sink }) => sink).map((view) => ({ ...view, state: stateOf(view) }));
}

/** Every source: those configured in their order, then those that only the ledger remembers. */
export function viewSources(config: LedgerConfig, { sources }: LedgerStatus): SourceView[] {
  return pair(config.sources, sources, ({ source }) => source);
}

/** The status for scripts, by the names of the store's columns. What is absent is null. */
export function statusJson(config: LedgerConfig, status: LedgerStatus) {
  return {
    sources: viewSources(config, status).map(sourceJson),
    sinks: viewSinks(config, status).map(sinkJson),
  };
}

function pair<Configured extends { readonly name: string }, Known>(
  configured: readonly Configured[],
  known: readonly Known[],
  nameOf: (known: Known) => string,
): { name: string; config: Configured | undefined; status: Known | undefined }[] {
  const names = new Set([...configured.map(({ name }) => name), ...known.map(nameOf)]);
  return [...names].map((name) => ({
    name,
    config: configured.find((entry) => entry.name === name),
    status: known.find((entry) => nameOf(entry) === name),
  }));
}

function stateOf({ config, status }: Omit<SinkView, 'state'>): SinkState {
  if (!config) return 'removed';
  if (!config.enabled) return 'disabled';
  if (!status?.active) return 'new';
  if (status.health.pausedSince) return 'paused';
  if (status.health.heldSince) return 'held';
  return status.retrying ? 'retrying' : 'ok';
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
