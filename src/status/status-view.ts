import type { LedgerConfig } from '../config/contract/config.ts';
import type { LedgerStatus, SinkStatus, SourceStatus } from '../ledger/contract/status-rows.ts';

/**
 * State of a sink: `healthy`; `held` while its destination does not work; `paused` by an operator, or by leadsync because the destination
 * answered that it is gone for good; `disabled` in the configuration; `orphaned` if the configuration no longer has it; `new` until
 * leadsync has run with it; `retrying` while failed leads wait for a retry, although other leads may succeed.
 */
export type SinkState = 'healthy' | 'held' | 'paused' | 'disabled' | 'orphaned' | 'new' | 'retrying';

/** A sink, as the configuration and the ledger describe it. */
export interface SinkView {
  readonly name: string;
  readonly state: SinkState;
  readonly config: LedgerConfig['sinks'][number] | undefined;
  readonly status: SinkStatus | undefined;
}

/** A source, as the configuration and the ledger describe it. */
export interface SourceView {
  readonly name: string;
  readonly config: LedgerConfig['sources'][number] | undefined;
  readonly status: SourceStatus | undefined;
  /** Whether the source may be in a part of the configuration file that has faults. */
  readonly unread: boolean;
}

/**
 * Returns every relevant sink: the configured ones in their order, then those that only the ledger has. Omits a removed sink without pending or
 * dead deliveries; its other deliveries can still be found by its name.
 */
export function viewSinks(config: LedgerConfig, status: LedgerStatus): SinkView[] {
  return allSinks(config, status).filter((sink) => sink.state !== 'orphaned' || hasUnsettled(sink));
}

/** Whether deliveries of a sink are pending or dead, so that an operator still has to decide about them. */
function hasUnsettled({ status }: SinkView): boolean {
  return status === undefined || status.pending + status.dead > 0;
}

/** Returns every sink, including removed ones without pending or dead deliveries. */
export function allSinks(config: LedgerConfig, { sinks }: LedgerStatus): SinkView[] {
  return pair(config.sinks, sinks, ({ sink }) => sink).map((view) => ({
    ...view,
    state: stateOf(view, isFaulty(config)),
  }));
}

/** Returns every source: the configured ones in their order, then those that only the ledger has. */
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

/**
 * Returns the state of a sink. While the configuration file has faults, a sink that is missing from its readable part may still be
 * configured, so it is not orphaned if it is active in the ledger.
 */
function stateOf({ config, status }: Omit<SinkView, 'state'>, isFaulty: boolean): SinkState {
  if (!config && !(isFaulty && status?.active)) return 'orphaned';
  if (config?.enabled === false) return 'disabled';
  if (!status?.active) return 'new';
  if (status.health.pausedSince) return 'paused';
  if (status.health.heldSince) return 'held';
  return status.retrying ? 'retrying' : 'healthy';
}
