import { collectDefaultMetrics, Registry } from 'prom-client';
import { BacklogMetrics, type SinkBacklog } from './backlog-metrics.ts';
import { ConfigMetrics } from './config-metrics.ts';
import type { Event, EventOf, EventType } from './events.ts';
import { ExportMetrics, type ExportRuns } from './export-metrics.ts';
import { Instruments } from './instruments.ts';
import { SinkMetrics } from './sink-metrics.ts';
import { SourceMetrics } from './source-metrics.ts';

/** What is named is shown from the start. */
export interface MetricsOptions extends MetricNames {
  readonly version: string;
  readonly now: () => Date;
  /** Asked whenever the metrics are shown. */
  readonly backlog: () => Promise<readonly SinkBacklog[]>;
  /** Asked whenever the metrics are shown. */
  readonly tokenExpiresAt: (source: string) => Date | undefined;
  /** Asked whenever the metrics are shown. */
  readonly exportRuns: (name: string) => ExportRuns;
}

/** What each event changes in the metrics. Other events change nothing. */
type Observers = { readonly [Type in EventType]?: (event: EventOf<Type>) => void };

/** How often the lag of the event loop is looked at, in ms; with the library's own 10 that would be most of what an idle process does. */
const LAG_LOOK_MS = 100;
/** How long a scrape waits for the backlog. Prometheus itself waits 10 s for the whole by default. */
const BACKLOG_PATIENCE_MS = 2_000;

/** The names that metrics are shown for. */
export interface MetricNames {
  readonly sources: readonly string[];
  readonly sinks: readonly string[];
  readonly exports: readonly string[];
}

/** The metrics of this process. `observe` takes every event; one of a name that is not shown counts for nothing. */
export interface Metrics {
  readonly registry: Registry;
  readonly observe: (event: Event) => void;
  /** From now on the metrics are those of these names: new ones begin at 0, others are shown no more. */
  readonly rename: (names: MetricNames) => void;
}

/**
 * Makes the metrics, in a registry of their own, and the function that takes events in.
 * Names follow https://prometheus.io/docs/practices/naming/: `leadsync_`, the unit, `_total` on counters.
 */
export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry();
  const make = new Instruments(registry);
  make
    .gauge('leadsync_build_info', 'Which leadsync this is; always 1.', {
      version: [options.version],
      node: [process.versions.node],
    })
    .set({ version: options.version, node: process.versions.node }, 1);
  const source = new SourceMetrics(make, options.sources, options.tokenExpiresAt, options.now);
  const sink = new SinkMetrics(make, options.sinks);
  const { now, backlog: read } = options;
  const backlog = new BacklogMetrics(make, options.sinks, { read, now, patienceMs: BACKLOG_PATIENCE_MS });
  const carrierUp = make.gauge('leadsync_carrier_up', '0 while the queue is known to be unreachable.');
  carrierUp.set(1);
  const ledgerFailures = make.counter('leadsync_ledger_failures_total', 'Times the ledger failed.');
  const config = new ConfigMetrics(make, options.now);
  const exports = new ExportMetrics(make, options.exports, options.exportRuns);
  collectDefaultMetrics({
    register: registry,
    prefix: 'leadsync_',
    eventLoopMonitoringPrecision: LAG_LOOK_MS,
  });

  // The library gives these gauges names that end as those of counters do, which Prometheus' own linter refuses.
  for (const what of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`leadsync_nodejs_active_${what}_total`);

  let shown: MetricNames = options;
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
    'sink-resumed': (event) => {
      backlog.held(event.sink, false);
      backlog.paused(event.sink, false);
    },
    'carrier-unavailable': () => carrierUp.set(0),
    'carrier-recovered': () => carrierUp.set(1),
    'ledger-replaced': () => ledgerFailures.inc(),
    'ledger-failed': () => ledgerFailures.inc(),
    reloaded: (event) => config.reloaded(event),
    'reload-failed': () => config.failed(),
    'export-failed': (event) => exports.failed(event.export),
    'export-made': (event) => exports.made(event),
  };
  const observe = (event: Event): void => {
    if (isOf(event, shown)) (observers[event.type] as ((event: Event) => void) | undefined)?.(event);
  };
  const rename = (names: MetricNames): void => {
    exchange(make, 'source', shown.sources, names.sources);
    exchange(make, 'sink', shown.sinks, names.sinks);
    exchange(make, 'export', shown.exports, names.exports);
    source.names = names.sources;
    exports.names = names.exports;
    shown = names;
  };
  return { registry, observe, rename };
}

/** What ends after its source, sink or export was removed would bring series back that are shown no more. */
function isOf(event: Event, { sources, sinks, exports }: MetricNames): boolean {
  if ('sink' in event) return sinks.includes(event.sink);
  if ('source' in event) return sources.includes(event.source);
  return !('export' in event) || exports.includes(event.export);
}

function exchange(
  make: Instruments,
  label: string,
  before: readonly string[],
  after: readonly string[],
): void {
  for (const value of before) if (!after.includes(value)) make.remove(label, value);
  for (const value of after) if (!before.includes(value)) make.add(label, value);
}
