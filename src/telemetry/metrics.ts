import { collectDefaultMetrics, Registry } from 'prom-client';
import { AlertMetrics } from './alert-metrics.ts';
import { BacklogMetrics, type SinkBacklog } from './backlog-metrics.ts';
import { ConfigMetrics } from './config-metrics.ts';
import { addDiskMetrics, type DiskSizes } from './disk-metrics.ts';
import type { Event, EventOf, EventType } from './events.ts';
import { ExportMetrics, type ExportRuns } from './export-metrics.ts';
import { Instruments } from './instruments.ts';
import { addMachineMetrics, type MachineReaders } from './machine-metrics.ts';
import { SinkMetrics } from './sink-metrics.ts';
import { SourceMetrics, type SourceReaders } from './source-metrics.ts';

/**
 * Options for the metrics. The metrics of the named sources, sinks, exports, backups and destinations of alerts exist from startup, before their first
 * event.
 */
export interface MetricsOptions extends MetricNames, SourceReaders {
  readonly version: string;
  readonly now: () => Date;
  /** Returns the backlog of each sink; called at each scrape. */
  readonly backlog: () => Promise<readonly SinkBacklog[]>;
  /** Returns the free space of the data directory's disk, and the size of the ledger; called at each scrape. */
  readonly disk: () => Promise<DiskSizes>;
  /** Returns how many transactions of the ledger were run again; called at each scrape. Absent if the ledger never does that. */
  readonly repeatedTransactions?: (() => number | undefined) | undefined;
  /** Absent if only one machine can use the ledger. */
  readonly machines?: MachineReaders | undefined;
  /** Returns the results of the runs of an export or a backup; called at each scrape. */
  readonly exportRuns: (name: string) => Promise<ExportRuns>;
}

/** Functions that update the metrics, by event type. Other events change nothing. */
type Observers = { readonly [Type in EventType]?: (event: EventOf<Type>) => void };

/**
 * Interval at which the lag of the event loop is measured, in ms. At the default of 10, measuring would be most of the work of an idle
 * process.
 */
const LAG_INTERVAL_MS = 100;
/** Maximum time that a scrape waits for a read of the ledger, in ms. Prometheus waits 10 s for the whole scrape by default. */
const LEDGER_TIMEOUT_MS = 2_000;

/** Names of the sources, sinks, exports, backups and destinations of alerts that have metrics. */
export interface MetricNames {
  readonly sources: readonly string[];
  readonly sinks: readonly string[];
  readonly exports: readonly string[];
  readonly backups: readonly string[];
  readonly destinations: readonly string[];
}

/** Metrics of this process. `observe` accepts every event, and ignores events about sources, sinks and others that have no metrics. */
export interface Metrics {
  readonly registry: Registry;
  readonly observe: (event: Event) => void;
  /**
   * Replaces the names that have metrics. Creates the series of new names, and removes the series of all others. The backlog series of a
   * removed sink return at the next scrape if the ledger still has the sink.
   */
  readonly rename: (names: MetricNames) => void;
}

/**
 * Creates the metrics in a registry of their own.
 * Names follow https://prometheus.io/docs/practices/naming/: `leadsync_`, the unit, `_total` on counters. The metrics of the process and of Node.js keep the
 * names of the client library, `process_` and `nodejs_`, which published dashboards and alerts expect.
 */
export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry();
  const make = new Instruments(registry);
  make
    .gauge('leadsync_build_info', 'Version of leadsync and of Node; always 1.', {
      version: [options.version],
      node: [process.versions.node],
    })
    .set({ version: options.version, node: process.versions.node }, 1);
  const { now, backlog: read } = options;
  const source = new SourceMetrics(make, options.sources, options, { now, patienceMs: LEDGER_TIMEOUT_MS });
  const sink = new SinkMetrics(make, options.sinks);
  const backlog = new BacklogMetrics(make, options.sinks, { read, now, patienceMs: LEDGER_TIMEOUT_MS });
  const carrierUp = make.gauge('leadsync_carrier_up', '0 while the queue does not work.');
  carrierUp.set(1);
  const ledgerFailures = make.counter('leadsync_ledger_failures_total', 'Ledger failures.');
  make.readCounter(
    'leadsync_ledger_repeated_transactions_total',
    'Transactions of a ledger in PostgreSQL that ran again because of a deadlock or changed locks. A few are normal.',
    () => options.repeatedTransactions?.() ?? 0,
  );
  addDiskMetrics(make, options.disk);
  if (options.machines) addMachineMetrics(make, options.machines);
  const config = new ConfigMetrics(make, options.now);
  const exports = new ExportMetrics(make, 'export', options.exports, options.exportRuns);
  const backups = new ExportMetrics(make, 'backup', options.backups, options.exportRuns);
  const alerts = new AlertMetrics(make, options.destinations);
  collectDefaultMetrics({
    register: registry,
    eventLoopMonitoringPrecision: LAG_INTERVAL_MS,
  });

  // The library gives these gauges the suffix of counters, which Prometheus' linter rejects.
  for (const what of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${what}_total`);

  let current: MetricNames = options;
  const observers: Observers = {
    'poll-finished': (event) => source.pollFinished(event),
    'poll-failed': (event) => source.pollFailed(event),
    'token-renewed': (event) => source.tokenRenewed(event),
    'batch-settled': (event) => sink.batchSettled(event),
    'delivery-dead': (event) => sink.dead(event.sink),
    'deliveries-revived': (event) => sink.revived(event.sink, event.revived),
    'batch-stale': (event) => sink.stale(event.sink),
    'check-failed': (event) => sink.checkFailed(event.sink),
    'carrier-replaced': (event) => sink.workerReplaced(event.sink),
    'sink-held': (event) => {
      sink.held(event.sink);
      backlog.held(event.sink, true);
    },
    'sink-recovered': (event) => backlog.held(event.sink, false),
    'sink-paused': (event) => backlog.paused(event.sink, true),
    'sink-resumed': (event) => backlog.paused(event.sink, false),
    'carrier-unavailable': () => carrierUp.set(0),
    'carrier-recovered': () => carrierUp.set(1),
    'ledger-replaced': () => ledgerFailures.inc(),
    'ledger-failed': () => ledgerFailures.inc(),
    reloaded: (event) => config.reloaded(event),
    'reload-failed': () => config.failed(),
    'export-failed': (event) => exports.failed(event.export),
    'export-made': (event) => exports.made(event.export, event),
    'alert-sent': (event) => alerts.sent(event.to),
    'alert-unsent': (event) => alerts.failed(event.to),
    'backup-failed': (event) => backups.failed(event.backup),
    'backup-made': (event) => backups.made(event.backup, { ...event, rows: event.leads }),
  };
  const observe = (event: Event): void => {
    if (isCurrent(event, current)) (observers[event.type] as ((event: Event) => void) | undefined)?.(event);
  };
  const rename = (names: MetricNames): void => {
    replaceValues(make, 'source', current.sources, names.sources);
    replaceValues(make, 'sink', current.sinks, names.sinks);
    replaceValues(make, 'export', current.exports, names.exports);
    replaceValues(make, 'backup', current.backups, names.backups);
    replaceValues(make, 'destination', current.destinations, names.destinations);
    source.names = names.sources;
    exports.names = names.exports;
    backups.names = names.backups;
    current = names;
  };
  return { registry, observe, rename };
}

/** Whether an event counts. One about something that was removed, such as a sink, does not, because it would create the removed series again. */
function isCurrent(event: Event, names: MetricNames): boolean {
  const { sources, sinks, exports, backups, destinations } = names;
  if ('sink' in event) return sinks.includes(event.sink);
  if ('source' in event) return sources.includes(event.source);
  if ('backup' in event) return backups.includes(event.backup);
  if (event.type === 'alert-sent' || event.type === 'alert-unsent') return destinations.includes(event.to);
  return !('export' in event) || exports.includes(event.export);
}

function replaceValues(
  make: Instruments,
  label: string,
  before: readonly string[],
  after: readonly string[],
): void {
  for (const value of before) if (!after.includes(value)) make.remove(label, value);
  for (const value of after) if (!before.includes(value)) make.add(label, value);
}
