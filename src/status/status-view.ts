import type { LedgerConfig } from '../config/contract/config.ts';
import type { LedgerStatus, SinkStatus, SourceStatus } from '../ledger/contract/status-rows.ts';

/**
 * How a sink is: `healthy`; `held` while its destination does not take leads; `paused` by somebody; `disabled` in the
 * configuration; `orphaned` when that no longer has it; `new` until leadsync has run with it; `retrying` while leads that
 * failed wait to be tried again, and others may get through.
 */
export type SinkState = 'healthy' | 'held' | 'paused' | 'disabled' | 'orphaned' | 'new' | 'retrying';

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
  /** The file has faults, and may have it in a part that could not be read. */
  readonly unread: boolean;
}

/**
 * Every sink that anybody has to look at: those configured in their order, then those that only the ledger remembers. One that
 * was removed and is owed nothing is history: its deliveries are found by its name, and back in the configuration it is here again.
 */
export function viewSinks(config: LedgerConfig, status: LedgerStatus): SinkView[] {
  return allSinks(config, status).filter((sink) => sink.state !== 'orphaned' || sink.status?.pending !== 0);
}

/** The same with those that are history. */
export function allSinks(config: LedgerConfig, { sinks }: LedgerStatus): SinkView[] {
  return pair(config.sinks, sinks, ({ sink }) => sink).map((view) => ({
    ...view,
    state: stateOf(view, isFaulty(config)),
  }));
}

/** Every source: those configured in their order, then those that only the ledger remembers. */
export function viewSources(config: LedgerConfig, { sources }: LedgerStatus): SourceView[] {
  return pair(config.sources, sources, ({ source }) => source).map((view) => ({
    ...view,
    unread: view.config === undefined && isFaulty(config),
  }));
}

function isFaulty({ faults = [] }: LedgerConfig): boolean {
  return faults.length > 0;
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

/** A file with faults is not in force: what it does not name may be there, as far as the ledger was last told. */
function stateOf({ config, status }: Omit<SinkView, 'state'>, isFaulty: boolean): SinkState {
  if (!config && !(isFaulty && status?.active)) return 'orphaned';
  if (config?.enabled === false) return 'disabled';
  if (!status?.active) return 'new';
  if (status.health.pausedSince) return 'paused';
  if (status.health.heldSince) return 'held';
  return status.retrying ? 'retrying' : 'healthy';
}
