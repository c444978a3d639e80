import type { Event, EventOf, EventType } from '../../src/telemetry/events.ts';

type Examples = { readonly [Type in EventType]: EventOf<Type> };

const at = new Date('2026-11-20T10:00:00.000Z');
const lead = {
  source: 'main',
  lead: '42',
  sink: 'crm',
  delivery: 'd1',
  ofErased: false,
  reason: 'It answered 422.',
};
const recorded = { listed: 3, new: 2, changed: 1, rejected: 1, bytes: 3000 };

/** One example of every event; the compiler sees to it that none is missing. */
const examples: Examples = {
  started: {
    type: 'started',
    version: '1.2.3',
    carrier: 'bullmq',
    sources: 1,
    sinks: 2,
    dataDir: '/data',
  },
  'start-waiting': {
    type: 'start-waiting',
    reasons: ['sink warehouse: PostgreSQL cannot be reached (ECONNREFUSED).'],
    dataDir: '/data',
    patienceMs: 300_000,
  },
  configured: { type: 'configured', changes: ['sink crm is new: no leads listed before'] },
  reloaded: {
    type: 'reloaded',
    trigger: 'SIGHUP',
    generation: 2,
    changes: ['sink crm: url'],
    restart: ['data_dir'],
  },
  'reload-failed': {
    type: 'reload-failed',
    trigger: 'watch',
    generation: 1,
    faults: ['leadsync.yaml:3:5: sinks.crm.url: is missing'],
  },
  stopping: { type: 'stopping', signal: 'SIGTERM', graceMs: 25_000 },
  stopped: { type: 'stopped', clean: true },
  'poll-started': { type: 'poll-started', source: 'main', poll: 7 },
  'poll-progress': {
    type: 'poll-progress',
    source: 'main',
    poll: 7,
    listed: 5000,
    recorded: 4000,
    leadsPerSecond: 50_000,
  },
  'poll-finished': {
    type: 'poll-finished',
    source: 'main',
    poll: 7,
    status: 'success',
    ...recorded,
    durationMs: 800,
  },
  'poll-failed': {
    type: 'poll-failed',
    source: 'main',
    poll: 7,
    status: 'partial',
    code: 'incomplete',
    reason: 'The listing broke off.',
    hint: 'Nothing to do.',
    retryInMs: 1_500,
    failures: 2,
    recorded,
    durationMs: 300,
  },
  'listing-emptied': { type: 'listing-emptied', source: 'main', poll: 7, before: 12 },
  'leads-rejected': {
    type: 'leads-rejected',
    source: 'main',
    poll: 7,
    rejected: 1,
    reasons: ['client_name: is missing'],
  },
  'token-renewed': { type: 'token-renewed', source: 'main', grant: 'client_credentials', expiresAt: at },
  'token-fallback': { type: 'token-fallback', source: 'main', reason: 'It was revoked.' },
  backfill: { type: 'backfill', sink: 'crm', owed: 10, skipped: 0, done: true },
  'batch-settled': {
    type: 'batch-settled',
    sink: 'crm',
    batch: 'b1',
    delivered: 2,
    refused: 1,
    leftOut: 0,
    unavailable: 3,
    durationMs: 40,
    secondsToDelivery: [0.4, 90_000],
  },
  'delivery-refused': { type: 'delivery-refused', ...lead },
  'delivery-dead': { type: 'delivery-dead', ...lead, attempts: 9 },
  'deliveries-revived': { type: 'deliveries-revived', sink: 'crm', revived: 4 },
  'clock-set-back': { type: 'clock-set-back', byMs: 86_400_000, moved: 4 },
  'batch-stale': { type: 'batch-stale', sink: 'crm', batch: 'b1' },
  'mapping-slow': { type: 'mapping-slow', sink: 'crm', source: 'main', lead: '42', durationMs: 80 },
  'sink-held': { type: 'sink-held', sink: 'crm', reason: 'It cannot be reached.', probeAt: at },
  'sink-recovered': { type: 'sink-recovered', sink: 'crm', heldMs: 61_000 },
  'sink-paused': { type: 'sink-paused', sink: 'crm', reason: 'It answered 410.' },
  'sink-resumed': { type: 'sink-resumed', sink: 'crm' },
  'carrier-unavailable': { type: 'carrier-unavailable', reason: 'No connection.', hint: 'Start Redis.' },
  'carrier-recovered': { type: 'carrier-recovered', downMs: 30_000 },
  'carrier-warning': { type: 'carrier-warning', reason: 'Redis evicts keys.', hint: 'Set noeviction.' },
  'program-replaced': { type: 'program-replaced' },
  'ledger-replaced': { type: 'ledger-replaced', dataDir: '/data' },
  'ledger-upgraded': {
    type: 'ledger-upgraded',
    fromSchema: 8,
    toSchema: 9,
    copy: '/data/ledger.db.before-schema-9',
    reason: undefined,
  },
  'config-warning': {
    type: 'config-warning',
    warning: 'every user may change leadsync.yaml. Run: chmod o-w leadsync.yaml',
  },
  'ledger-restored': { type: 'ledger-restored', dataDir: '/data' },
  'erased-again': { type: 'erased-again', leads: 2 },
  retained: { type: 'retained', leads: 0, versions: 3, attempts: 12, rejected: 1 },
  'ledger-held-up': { type: 'ledger-held-up', bytes: 300 * 1024 ** 2 },
  'carrier-replaced': { type: 'carrier-replaced', sink: 'crm', waiting: 3, silentMs: 12_000 },
  'ledger-failed': {
    type: 'ledger-failed',
    operation: 'claiming deliveries of crm',
    reason: 'There is no room on the disk.',
    hint: 'Free some space.',
  },
  alert: {
    type: 'alert',
    condition: 'sink_held',
    about: 'crm',
    reason: 'crm is held: It answered 503.',
    hint: 'Mend the destination.',
    lasts: false,
  },
  'alert-over': {
    type: 'alert-over',
    condition: 'sink_held',
    about: 'crm',
    reason: 'crm takes leads again.',
    lastedMs: 90_000,
  },
  'alert-sent': { type: 'alert-sent', to: 'ops', notices: 2 },
  'alert-unsent': {
    type: 'alert-unsent',
    to: 'ops',
    reason: 'https://hooks.example.com refuses the connection (ECONNREFUSED).',
    hint: 'See whether it runs.',
    retryInMs: 30_000,
  },
  'traces-unsent': { type: 'traces-unsent', reason: 'The receiver of traces answered 503.' },
  'alerts-unkept': { type: 'alerts-unkept', reason: 'ENOSPC' },
  'check-failed': { type: 'check-failed', sink: 'crm', reason: 'It answered 401.', hint: 'See the secret.' },
  'export-made': {
    type: 'export-made',
    export: 'nightly',
    place: '/exports/nightly-20261120T030000Z.parquet',
    rows: 1000,
    bytes: 90_000,
    removed: 1,
    durationMs: 1500,
  },
  'export-failed': {
    type: 'export-failed',
    export: 'nightly',
    reason: 'The bucket leads does not exist (NoSuchBucket).',
    hint: 'Make it, or correct `bucket`.',
    failures: 2,
    retryInMs: 120_000,
  },
  'mirror-failed': { type: 'mirror-failed', sink: 'warehouse', reason: 'It is down.', hint: 'Start it.' },
};

/** An event of each type. */
export const oneOfEach: readonly Event[] = Object.values(examples);

/** An event of this type, with what the test says otherwise. */
export function anEvent<Type extends EventType>(
  type: Type,
  fields: Partial<Examples[Type]> = {},
): Examples[Type] {
  return { ...examples[type], ...fields };
}
