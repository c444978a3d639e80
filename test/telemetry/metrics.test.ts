import { describe, expect, test } from 'vitest';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import type { SinkBacklog } from '../../src/telemetry/backlog-metrics.ts';
import { createMetrics, type MetricsOptions } from '../../src/telemetry/metrics.ts';
import { anEvent, oneOfEach } from './an-event.ts';

/** The names of metrics of the process and of Node.js, which the client library chooses. */
const NAMED_BY_PROM_CLIENT = /^(nodejs|process)_/;

const now = new Date('2026-11-20T10:00:00.000Z');
const idle: SinkBacklog = { sink: 'crm', pending: 0, dead: 0, oldestOwedAt: undefined };

function metrics(options: Partial<MetricsOptions> = {}) {
  const { registry, observe, rename } = createMetrics({
    version: '1.2.3',
    sources: ['main', 'other'],
    sinks: ['crm', 'drop'],
    now: () => now,
    backlog: async () => [idle],
    disk: async () => ({ freeBytes: 2_000, ledgerBytes: 100 }),
    tokenExpiresAt: () => undefined,
    pollDueAt: async () => undefined,
    exports: ['nightly'],
    backups: ['daily'],
    destinations: ['ops'],
    exportRuns: async () => ({ madeAt: undefined, dueAt: undefined, bytes: undefined, failures: 0 }),
    ...options,
  });
  /** The series and their values, as a scraper reads them. */
  const scrape = async () => {
    const text = await registry.metrics();
    const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return new Map(
      samples.map((line) => [
        line.slice(0, line.lastIndexOf(' ')),
        Number(line.slice(line.lastIndexOf(' '))),
      ]),
    );
  };
  return { registry, observe, rename, scrape };
}

test('every series exists before the first event, with the value 0', async () => {
  const series = await metrics().scrape();
  const missing = ['main', 'other'].flatMap((source) =>
    [
      ...['new', 'changed', 'listed', 'rejected'].map(
        (what) => `leadsync_leads_${what}_total{source="${source}"}`,
      ),
      ...['success', 'unchanged', 'partial', 'failed'].map(
        (status) => `leadsync_polls_total{source="${source}",status="${status}"}`,
      ),
      `leadsync_poll_duration_seconds_count{source="${source}"}`,
      `leadsync_last_successful_poll_timestamp_seconds{source="${source}"}`,
      `leadsync_token_expiry_timestamp_seconds{source="${source}"}`,
    ].filter((name) => series.get(name) !== 0),
  );
  const missingOfSinks = ['crm', 'drop'].flatMap((sink) =>
    [
      ...['delivered', 'refused', 'unavailable', 'dead'].map(
        (outcome) => `leadsync_deliveries_total{sink="${sink}",outcome="${outcome}"}`,
      ),
      ...['backlog_pending', 'backlog_dead', 'backlog_oldest_age_seconds', 'sink_held', 'sink_paused'].map(
        (name) => `leadsync_${name}{sink="${sink}"}`,
      ),
      `leadsync_batch_duration_seconds_count{sink="${sink}"}`,
      `leadsync_lead_to_delivery_seconds_count{sink="${sink}"}`,
    ].filter((name) => series.get(name) !== 0),
  );
  expect([...missing, ...missingOfSinks]).toEqual([]);
});

test('no event adds a series that did not exist from the start', async () => {
  const { observe, scrape } = metrics();
  // What Node reports of itself comes and goes by kind of resource.
  const ours = (series: Map<string, number>) =>
    [...series.keys()].filter((name) => !NAMED_BY_PROM_CLIENT.test(name));
  const before = ours(await scrape());
  for (const event of oneOfEach) observe(event);
  expect(ours(await scrape())).toEqual(before);
});

test('work that ends after its source, sink, export, backup or destination was removed restores no series', async () => {
  const { observe, rename, scrape } = metrics();
  rename({ sources: ['other'], sinks: ['drop'], exports: [], backups: [], destinations: [] });
  const before = [...(await scrape()).keys()];
  for (const event of oneOfEach) observe(event);
  expect([...(await scrape()).keys()]).toEqual(before);
});

test('a worker, which has no sources of its own, counts the outcomes of the leads of any source', async () => {
  const { observe, scrape } = metrics({ sources: [] });
  observe(anEvent('delivery-dead'));
  expect((await scrape()).get('leadsync_deliveries_total{sink="crm",outcome="dead"}')).toBe(1);
});

test('a scrape has the number of transactions that the ledger has run again by then', async () => {
  let repeated = 0;
  const { scrape } = metrics({ repeatedTransactions: () => repeated });
  const name = 'leadsync_ledger_repeated_transactions_total';
  expect((await scrape()).get(name)).toBe(0);
  repeated = 3;
  for (let n = 0; n < 2; n += 1) expect((await scrape()).get(name)).toBe(3);
  expect((await metrics().scrape()).get(name)).toBe(0);
});

test('with a ledger that several machines may use, a scrape has the living processes and the duties of this one', async () => {
  let duties = ['poll:main', 'upkeep'];
  const roles = () => ['run', 'worker', 'worker'];
  const { scrape } = metrics({ machines: { roles, duties: () => duties } });
  const first = await scrape();
  expect(first.get('leadsync_processes{role="run"}')).toBe(1);
  expect(first.get('leadsync_processes{role="worker"}')).toBe(2);
  expect(first.get('leadsync_processes{role="sync"}')).toBe(0);
  expect(first.get('leadsync_duty_held{duty="poll:main"}')).toBe(1);
  duties = ['upkeep'];
  const held = [...(await scrape()).keys()].filter((name) => name.startsWith('leadsync_duty_held'));
  expect(held).toEqual(['leadsync_duty_held{duty="upkeep"}']);
  expect([...(await metrics().scrape()).keys()].join()).not.toMatch(/leadsync_(processes|duty_held)/);
});

test('names follow the rules: the prefix, base units, _total only for counters, a help text', async () => {
  const { registry } = metrics();
  for (const { name, help, type } of await registry.getMetricsAsJSON()) {
    expect(name).toMatch(/^(leadsync|process|nodejs)_[a-z0-9_]+$/);
    expect(name).not.toMatch(/_(ms|milliseconds|kb|mb|minutes|hours)(_|$)/);
    expect(help.length).toBeGreaterThan(5);
    if (NAMED_BY_PROM_CLIENT.test(name)) continue;
    expect(name.endsWith('_total'), name).toBe(String(type) === 'counter');
  }
});

test('the process and Node.js have the names that published dashboards expect, apart from gauges with the suffix of counters', async () => {
  const { registry } = metrics();
  const names = (await registry.getMetricsAsJSON()).map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining([
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'process_start_time_seconds',
      'nodejs_eventloop_lag_p99_seconds',
      'nodejs_heap_size_used_bytes',
    ]),
  );
  expect(names.filter((name) => /^nodejs_active_.*_total$/.test(name))).toEqual([]);
});

test('a poll counts its leads, its bytes, its duration and its outcome', async () => {
  const { observe, scrape } = metrics();
  observe(anEvent('poll-finished'));
  const series = await scrape();
  expect(series.get('leadsync_leads_listed_total{source="main"}')).toBe(3);
  expect(series.get('leadsync_leads_new_total{source="main"}')).toBe(2);
  expect(series.get('leadsync_leads_changed_total{source="main"}')).toBe(1);
  expect(series.get('leadsync_leads_rejected_total{source="main"}')).toBe(1);
  expect(series.get('leadsync_listing_bytes_total{source="main"}')).toBe(3000);
  expect(series.get('leadsync_polls_total{source="main",status="success"}')).toBe(1);
  expect(series.get('leadsync_poll_duration_seconds_sum{source="main"}')).toBe(0.8);
  expect(series.get('leadsync_last_successful_poll_timestamp_seconds{source="main"}')).toBe(
    now.getTime() / 1000,
  );
  expect(series.get('leadsync_leads_new_total{source="other"}')).toBe(0);
});

test('the size of a listing is exported once it is known, and stays if a poll fails', async () => {
  const { observe, scrape } = metrics();
  const size = async () => (await scrape()).get('leadsync_listing_leads{source="main"}');
  expect(await size()).toBeNaN();
  observe(anEvent('poll-failed'));
  expect(await size()).toBeNaN();
  observe(anEvent('poll-finished'));
  expect(await size()).toBe(3);
  observe(anEvent('poll-failed'));
  expect(await size()).toBe(3);
  observe(anEvent('poll-finished', { listed: 0 }));
  expect(await size()).toBe(0);
});

test('the rejected leads of a listing are exported until it is read again, even if the service says that it has not changed', async () => {
  const { observe, scrape } = metrics();
  const rejected = async () => (await scrape()).get('leadsync_listing_rejected{source="main"}');
  expect(await rejected()).toBeNaN();
  observe(anEvent('poll-finished', { status: 'unchanged', rejected: 0 }));
  expect(await rejected()).toBeNaN();
  observe(anEvent('poll-finished', { rejected: 3 }));
  observe(anEvent('poll-finished', { status: 'unchanged', rejected: 0 }));
  observe(anEvent('poll-failed'));
  expect(await rejected()).toBe(3);
  observe(anEvent('poll-finished', { rejected: 0 }));
  expect(await rejected()).toBe(0);
});

test('a poll that broke off counts the leads that it recorded, and is not a success', async () => {
  const { observe, scrape } = metrics();
  observe(anEvent('poll-failed'));
  let series = await scrape();
  expect(series.get('leadsync_leads_new_total{source="main"}')).toBe(2);
  expect(series.get('leadsync_polls_total{source="main",status="partial"}')).toBe(1);
  expect(series.get('leadsync_poll_failures_in_a_row{source="main"}')).toBe(2);
  expect(series.get('leadsync_last_successful_poll_timestamp_seconds{source="main"}')).toBe(0);
  observe(anEvent('poll-finished', { status: 'unchanged' }));
  series = await scrape();
  expect(series.get('leadsync_poll_failures_in_a_row{source="main"}')).toBe(0);
});

test('a batch counts each outcome, its duration, and the delivery times of its leads', async () => {
  const { observe, scrape } = metrics();
  observe(anEvent('batch-settled'));
  observe(anEvent('delivery-dead'));
  const series = await scrape();
  const outcome = (name: string) => series.get(`leadsync_deliveries_total{sink="crm",outcome="${name}"}`);
  expect(['delivered', 'refused', 'unavailable', 'dead'].map(outcome)).toEqual([2, 0, 3, 1]); // six deliveries
  const attempt = (name: string) => series.get(`leadsync_attempts_total{sink="crm",outcome="${name}"}`);
  expect(['delivered', 'refused', 'unavailable'].map(attempt)).toEqual([2, 1, 3]);
  const answer = (code: string) => series.get(`leadsync_attempt_answers_total{sink="crm",code="${code}"}`);
  expect(['2xx', '3xx', '4xx', '5xx', 'none'].map(answer)).toEqual([2, 0, 1, 2, 1]); // the same six attempts
  expect(series.get('leadsync_batch_duration_seconds_sum{sink="crm"}')).toBe(0.04);
  expect(series.get('leadsync_lead_to_delivery_seconds_bucket{le="0.5",sink="crm"}')).toBe(1);
  expect(series.get('leadsync_lead_to_delivery_seconds_bucket{le="86400",sink="crm"}')).toBe(1);
  expect(series.get('leadsync_lead_to_delivery_seconds_bucket{le="+Inf",sink="crm"}')).toBe(2);
});

test('a scrape reads the next poll of a source, and succeeds even if the ledger cannot be read', async () => {
  const due = new Date('2026-11-23T08:00:00.000Z');
  let isDown = true;
  const { scrape } = metrics({
    pollDueAt: async (source) => {
      if (isDown) throw new Error('the disk does not answer');
      return source === 'main' ? due : undefined;
    },
  });
  const values = async () => {
    const series = await scrape();
    return ['main', 'other'].map((one) => series.get(`leadsync_poll_due_timestamp_seconds{source="${one}"}`));
  };
  expect(await values()).toEqual([Number.NaN, Number.NaN]);
  isDown = false;
  expect(await values()).toEqual([due.getTime() / 1000, 0]);
  isDown = true;
  expect(await values()).toEqual([due.getTime() / 1000, 0]);
});

test('a scrape reads the expiry of the token', async () => {
  const ends = new Date('2026-11-20T12:00:00.000Z');
  const { scrape } = metrics({ tokenExpiresAt: (source) => (source === 'main' ? ends : undefined) });
  const series = await scrape();
  expect(series.get('leadsync_token_expiry_timestamp_seconds{source="main"}')).toBe(ends.getTime() / 1000);
  expect(series.get('leadsync_token_expiry_timestamp_seconds{source="other"}')).toBe(0);
});

test('a scrape reads the stored state of an export, which survives a restart', async () => {
  let runs = { madeAt: now, dueAt: now, bytes: 1, failures: 0 };
  const { scrape } = metrics({ exportRuns: async () => runs });
  await scrape();
  runs = { madeAt: now, dueAt: now, bytes: 4_096, failures: 3 };
  const series = await scrape();
  expect(series.get('leadsync_export_last_success_timestamp_seconds{export="nightly"}')).toBe(
    now.getTime() / 1000,
  );
  expect(series.get('leadsync_export_failures_in_a_row{export="nightly"}')).toBe(3);
  expect(series.get('leadsync_backup_due_timestamp_seconds{backup="daily"}')).toBe(now.getTime() / 1000);
  expect(series.get('leadsync_backup_failures_in_a_row{backup="daily"}')).toBe(3);
  expect(series.get('leadsync_backup_bytes{backup="daily"}')).toBe(4_096);
});

test('messages of alerts are counted by destination, and a new destination begins at 0', async () => {
  const { observe, rename, scrape } = metrics();
  observe(anEvent('alert-unsent'));
  observe(anEvent('alert-unsent'));
  observe(anEvent('alert-sent'));
  const messages = async (destination: string, outcome: string) =>
    (await scrape()).get(`leadsync_alert_messages_total{destination="${destination}",outcome="${outcome}"}`);
  expect(await messages('ops', 'failed')).toBe(2);
  expect(await messages('ops', 'sent')).toBe(1);
  expect(await messages('pager', 'failed')).toBeUndefined();
  rename({
    sources: ['main'],
    sinks: ['crm'],
    exports: [],
    backups: [],
    destinations: ['ops', 'pager'],
  });
  expect(await messages('ops', 'failed')).toBe(2);
  expect(await messages('pager', 'failed')).toBe(0);
});

test('the queue counts as up until it is known to be down', async () => {
  const { observe, scrape } = metrics();
  const up = async () => (await scrape()).get('leadsync_carrier_up');
  expect(await up()).toBe(1);
  observe(anEvent('carrier-unavailable'));
  expect(await up()).toBe(0);
  observe(anEvent('carrier-recovered'));
  expect(await up()).toBe(1);
});

test('the running version can be joined to every other series', async () => {
  const series = await metrics().scrape();
  expect(series.get(`leadsync_build_info{version="1.2.3",node="${process.versions.node}"}`)).toBe(1);
});

describe('the backlog', () => {
  const aMinuteAgo = new Date(now.getTime() - 60_000);
  const waiting: SinkBacklog = { sink: 'crm', pending: 5, dead: 2, oldestOwedAt: aMinuteAgo };

  test('is read once for each scrape, however many series use it', async () => {
    let reads = 0;
    const backlog = async () => {
      reads += 1;
      return [waiting];
    };
    const series = await metrics({ backlog }).scrape();
    expect(reads).toBe(1);
    expect(series.get('leadsync_backlog_pending{sink="crm"}')).toBe(5);
    expect(series.get('leadsync_backlog_dead{sink="crm"}')).toBe(2);
    expect(series.get('leadsync_backlog_oldest_age_seconds{sink="crm"}')).toBe(60);
  });

  test('keeps its last values if it cannot be read, with a growing age, and the failure is counted', async () => {
    let time = now;
    let fails = false;
    const backlog = async () => (fails ? Promise.reject(new Error('locked')) : [waiting]);
    const { scrape } = metrics({ backlog, now: () => time });
    await scrape();
    fails = true;
    time = new Date(now.getTime() + 10_000);
    await scrape(); // the count of this very scrape may be shown before it is known
    const series = await scrape();
    expect(series.get('leadsync_backlog_pending{sink="crm"}')).toBe(5);
    expect(series.get('leadsync_backlog_oldest_age_seconds{sink="crm"}')).toBe(70);
    expect(series.get('leadsync_backlog_read_failures_total')).toBeGreaterThan(0);
  });

  test('does not delay a scrape if it cannot be read in time', async () => {
    const series = await metrics({ backlog: () => new Promise(() => {}) }).scrape();
    expect(series.get('leadsync_backlog_pending{sink="crm"}')).toBe(0);
  });

  test('has the held and paused sinks, even if another process changed them', async () => {
    const health = { ...HEALTHY, heldSince: now, pausedSince: undefined };
    const { observe, scrape } = metrics({ backlog: async () => [{ ...waiting, health }] });
    observe(anEvent('sink-paused'));
    const series = await scrape();
    expect(series.get('leadsync_sink_held{sink="crm"}')).toBe(1);
    expect(series.get('leadsync_sink_paused{sink="crm"}')).toBe(0);
  });

  test('has the used part of the daily limit of a destination, or NaN if it reports none', async () => {
    const quota = { unit: 'API requests', used: 12, limit: 250, readAt: now };
    const { scrape } = metrics({ backlog: async () => [{ ...waiting, health: { ...HEALTHY, quota } }] });
    const series = await scrape();
    expect(series.get('leadsync_sink_quota_used{sink="crm"}')).toBe(12);
    expect(series.get('leadsync_sink_quota_limit{sink="crm"}')).toBe(250);
    expect(series.get('leadsync_sink_quota_limit{sink="drop"}')).toBeNaN();
  });

  test('counts the pending deliveries of a sink that the configuration no longer has, which is neither held nor paused', async () => {
    const gone = { ...waiting, health: { ...HEALTHY, heldSince: now, pausedSince: now }, active: false };
    const { observe, scrape } = metrics({ backlog: async () => [gone] });
    observe(anEvent('sink-held', { sink: 'crm' }));
    const series = await scrape();
    expect(series.get('leadsync_backlog_pending{sink="crm"}')).toBe(5);
    expect(series.get('leadsync_sink_held{sink="crm"}')).toBe(0);
    expect(series.get('leadsync_sink_paused{sink="crm"}')).toBe(0);
  });

  test('uses the events if the health of the sinks is missing', async () => {
    const { observe, scrape } = metrics();
    observe(anEvent('sink-held'));
    observe(anEvent('sink-paused', { sink: 'drop' }));
    let series = await scrape();
    expect(series.get('leadsync_sink_held{sink="crm"}')).toBe(1);
    expect(series.get('leadsync_sink_paused{sink="drop"}')).toBe(1);
    observe(anEvent('sink-resumed', { sink: 'drop' }));
    observe(anEvent('sink-resumed'));
    series = await scrape();
    expect(series.get('leadsync_sink_held{sink="crm"}')).toBe(1);
    observe(anEvent('sink-recovered'));
    series = await scrape();
    expect(series.get('leadsync_sink_held{sink="crm"}')).toBe(0);
    expect(series.get('leadsync_sink_paused{sink="drop"}')).toBe(0);
  });
});
