import { collectDefaultMetrics, Registry } from 'prom-client';
import { BacklogMetrics, type SinkBacklog } from './backlog-metrics.ts';
import { ConfigMetrics } from './config-metrics.ts';
import type { Event } from './events.ts';
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
  const observe = (event: Event): void => {
    if (!isOf(event, shown)) return;
    switch (event.type) {
      case 'poll-finished':
        source.pollFinished(event);
        break;
      case 'poll-failed':
        source.pollFailed(event);
        break;
      case 'token-renewed':
        source.tokenRenewed(event);
        break;
      case 'batch-settled':
        sink.batchSettled(event);
        break;
      case 'delivery-dead':
        sink.dead(event.sink);
        break;
      case 'deliveries-revived':
        sink.revived(event.sink, event.revived);
        break;
      case 'batch-stale':
        sink.stale(event.sink);
        break;
      case 'check-failed':
        sink.checkFailed(event.sink);
        break;
      case 'carrier-replaced':
        sink.workerReplaced(event.sink);
        break;
      case 'sink-held':
        sink.held(event.sink);
        backlog.held(event.sink, true);
        break;
      case 'sink-recovered':
        backlog.held(event.sink, false);
        break;
      case 'sink-paused':
        backlog.paused(event.sink, true);
        break;
      case 'sink-resumed':
        backlog.held(event.sink, false);
        backlog.paused(event.sink, false);
        break;
      case 'carrier-unavailable':
        carrierUp.set(0);
        break;
      case 'carrier-recovered':
        carrierUp.set(1);
        break;
      case 'ledger-replaced':
      case 'ledger-failed':
        ledgerFailures.inc();
        break;
      case 'reloaded':
        config.reloaded(event);
        break;
      case 'reload-failed':
        config.failed();
        break;
      case 'export-failed':
        exports.failed(event.export);
        break;
      case 'export-made':
        exports.made(event);
        break;
      case 'started':
      case 'configured':
      case 'stopping':
      case 'stopped':
      case 'start-waiting':
      case 'poll-started':
      case 'poll-progress':
      case 'listing-emptied':
      case 'leads-rejected': // counted with its poll
      case 'delivery-refused': // counted with its batch
      case 'token-fallback':
      case 'backfill':
      case 'carrier-warning':
      case 'clock-set-back':
      case 'ledger-held-up':
      case 'program-replaced':
      case 'ledger-upgraded':
      case 'ledger-restored':
      case 'config-warning':
      case 'retained':
      case 'erased-again':
      case 'mirror-failed': // said in the store itself: v_freshness grows old
      case 'alert': // told of where nobody reads metrics
      case 'alert-over':
      case 'alert-sent':
      case 'alert-unsent':
      case 'alerts-unkept':
      case 'traces-unsent':
        break;
      default:
        event satisfies never;
    }
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
