import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Order } from '../../src/ledger/contract/page-rows.ts';
import { PageQueries } from '../../src/ledger/queries/page-queries.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import {
  aNewLead,
  aSink,
  changedLead,
  delivered,
  ids,
  LedgerUnderTest,
  MINUTE,
  refused,
  unavailable,
} from './ledger-under-test.ts';
import { mirrored } from './mirrored.ts';
import { SqliteFile } from './sqlite-store.ts';

/** Tables that grow with leads, deliveries or time. The others have a few rows; batches are only those being attempted or failed. */
const LARGE = [
  '_leads',
  '_versions',
  '_deliveries',
  '_attempts',
  '_client_keys',
  'polls',
  'rejected_leads',
  '_presence',
  '_sink_activity',
] as const;

/** Statements that may read many rows of a large table, each by a part of its text, with the reason. */
const MAY_READ_MANY: readonly (readonly [text: string, reason: string])[] = [
  [
    'SELECT r.rejected_id, CAST(r.lead_id AS TEXT) AS id, l.first_no',
    'goes through what is set aside at the end of a poll',
  ],
  [
    'UPDATE rejected_leads SET resolved_at = ? WHERE source = ?',
    'goes through what is set aside at the end of a poll',
  ],
  ['reason FROM _deliveries INDEXED BY', 'reads the first thousands of an index'],
  ['SELECT min(from_at) FROM _sink_activity', 'reads the first entry of an index'],
  [
    "sums ->> '$.last' IS NOT NULL ORDER BY from_at DESC",
    'goes back through a week until it has enough attempts',
  ],
  ['INDEXED BY _deliveries_discarded', 'reads an index of what operators discarded'],
  ['ORDER BY next_attempt_at LIMIT 100', 'reads the first hundred of an index'],
  ['ORDER BY next_attempt_at DESC, delivery_no DESC LIMIT', 'reads the first rows of an index, from its end'],
  ['SELECT * FROM polls WHERE source = ? ORDER BY poll_id DESC LIMIT 1', 'reads the last entry of an index'],
  ['SELECT min(owed_at) FROM _deliveries', 'reads the first entry of an index'],
  ['SELECT min(next_attempt_at) AS at FROM _deliveries', 'reads the first entry of an index'],
  ['SELECT max(settled_at) FROM _deliveries', 'reads the last entry of an index'],
  ['SELECT min(settled_at) FROM _deliveries', 'reads the first entry of an index'],
  ['SELECT p.finished_at FROM _sources o CROSS JOIN polls p', 'reads the first entry of an index'],
  [
    'FROM _attempts a INDEXED BY _attempts_failed',
    'reads the last 20,000 failed attempts at most, by an index of them',
  ],
  ["state = 'pending' AND reason IS NOT NULL", 'has an index of what failed and waits'],
  [
    "coalesce(reason, '') AS reason, count(*) AS deliveries",
    'reads the last 1,000 dead deliveries by an index',
  ],
  ['FROM _attempts ORDER BY attempt_no DESC LIMIT 20000', 'reads the last 20,000 attempts by number'],
  ['FROM rejected_leads ORDER BY rejected_id DESC LIMIT', 'reads the last thousands by number'],
  ['FROM rejected_leads r JOIN polls first', 'is read row by row, newest first, until a page is full'],
  ["p.status <> 'running' ORDER BY poll_id DESC LIMIT 1", 'reads the last entry of an index'],
  [
    'FROM _attempts a JOIN _deliveries d ON d.delivery_no = a.delivery_no JOIN _versions v',
    'reads the last attempts by number',
  ],
  [
    'SELECT count(*) FROM _deliveries d WHERE d.sink_no = (SELECT sink_no FROM _sinks WHERE sink = ?)',
    'is read by `plan` alone, in a process of its own',
  ],
  ['FROM v_sink_health', 'reads the first entry of an index for each sink'],
  [
    'SELECT count(*) FROM _leads WHERE version_no > ?',
    'is asked when a configuration is compared, of sinks that are away',
  ],
  [
    'AND (b.holder IS NULL OR b.leased_until <= +?) LIMIT',
    'takes all that a forgotten sink is owed, in parts',
  ],
  [
    'AND (b.holder IS NULL OR b.leased_until <= +?)',
    'counts what a forgotten sink is owed, when a person asks',
  ],
  ["state = 'pending' AND replay > 0", 'has an index of what replays owe'],
  [
    "SET next_attempt_at = ? WHERE sink_no = +? AND state = 'pending'",
    'is done when a person resumes a sink',
  ],
  ['rejected_leads r WHERE r.source = s.source AND r.lead_id = :lead', 'is asked for an erasure'],
  ['SELECT source, hash FROM rejected_leads WHERE lead_id', 'is asked for an erasure'],
  ['FROM rejected_leads r WHERE source = :source AND lead_id = :id', 'is done by an erasure'],
  ["UPDATE rejected_leads SET raw = '' WHERE source = ?", 'is done by an erasure'],
  ['FROM rejected_leads r JOIN polls p', 'is asked by a person for a trace'],
  [
    'SELECT source, version, valid_from, poll_id, changed_fields FROM _versions',
    'is asked by a person for a trace',
  ],
  [
    'WHERE version_no < ? ORDER BY version_no DESC',
    'reads a bounded number of contents by number, when a person searches',
  ],
  ['SELECT * FROM polls ORDER BY poll_id DESC LIMIT', 'reads the last polls by number'],
];

describe('the statements of the ledger', () => {
  it('every statement finds rows of large tables by their keys, without statistics', async () => {
    const { statements, connection } = await usedLedger();
    expect(statements.length).toBeGreaterThan(150);
    // Without statistics, plans depend only on the schema: those of an empty ledger are those of one with a million rows.
    expect(
      connection.prepare("SELECT 1 FROM sqlite_schema WHERE name LIKE 'sqlite_stat%'").get(),
    ).toBeUndefined();
    const bad = statements.filter((sql) => !MAY_READ_MANY.some(([text]) => sql.includes(text)));
    expect(bad.flatMap((sql) => faultsOf(connection, sql))).toEqual([]);
  });

  it('a delivery after a restore finds the last complete poll by its status, past any number of failed ones', async () => {
    const { statements, connection } = await usedLedger();
    const load = statements.filter((sql) => sql.includes('restored_at') && sql.includes(' AS unsure'));
    const plans = load.map((sql) => connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(1));
    const reads = (plans as { detail: string }[][]).map((plan) =>
      plan.filter(({ detail }) => detail.includes('_polls_by_status')).map(({ detail }) => detail),
    );
    const last = expect.stringMatching(/^SEARCH q USING .*\(source=\? AND status=\? AND rowid<\?\)$/);
    expect(reads).toEqual([[last, last]]);
  });

  it('a mirror finds failed attempts by their index, past any number of others', async () => {
    const { statements, connection } = await usedLedger();
    const reads = statements.filter(
      (sql) => sql.includes('f.attempt_no AS _leadsync_no') && sql.includes('> ?'),
    );
    const plans = reads.map((sql) => connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(0, 1000));
    const ofFailed = (plans as { detail: string }[][])
      .flat()
      .filter(({ detail }) => detail.includes('_attempts_failed'));
    expect(ofFailed.map(({ detail }) => detail)).toEqual([
      'SEARCH _attempts USING INDEX _attempts_failed (attempt_no>?)',
    ]);
  });

  it('every listed exception exists and reads many rows', async () => {
    const { statements, connection } = await usedLedger();
    const idle = MAY_READ_MANY.filter(
      ([text]) => !statements.some((sql) => sql.includes(text) && faultsOf(connection, sql).length > 0),
    );
    expect(idle).toEqual([]);
  });
});

describe('the queries of pages', () => {
  it('measures all new leads although the first import of their source has more than the sample', async () => {
    const disk = new SqliteFile();
    const on = await LedgerUnderTest.with(disk.open, 'crm');
    await on.list(ids(1, 1_500));
    on.clock.jump(MINUTE);
    await on.list([...ids(1, 1_500), ...ids(1_501, 1_520).map((id) => aNewLead(on, id))]);
    await on.attemptAll('crm', delivered, { max: 2_000 });
    expect(new PageQueries(disk.connection).speed(new Date(0))).toMatchObject([{ sink: 'crm', leads: 20 }]);
  });

  it('measures the leads of an old source although a new source has imported many more since', async () => {
    const disk = new SqliteFile();
    const on = await LedgerUnderTest.with(disk.open, 'crm');
    await on.list(ids(1, 20), 'old');
    on.clock.jump(MINUTE);
    await on.list([...ids(1, 20), ...ids(21, 60).map((id) => aNewLead(on, id))], 'old');
    await on.list(ids(1, 5_000), 'young');
    on.clock.jump(MINUTE);
    await on.list([...ids(1, 5_000), ...ids(5_001, 5_020).map((id) => aNewLead(on, id))], 'young');
    await on.attemptAll('crm', delivered, { max: 6_000 });
    expect(new PageQueries(disk.connection).speed(new Date(0))).toMatchObject([{ sink: 'crm', leads: 60 }]);
  });

  it('runs as many statements for the times of many leads as of one', async () => {
    const one = await statementsOfSpeed(1);
    expect(one).toBeGreaterThan(2);
    expect(await statementsOfSpeed(50)).toBe(one);
  });
});

/** Returns how many statements SQLite runs to answer how fast so many leads were delivered. */
async function statementsOfSpeed(leads: number): Promise<number> {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, 'crm');
  await on.list([leads + 1]); // this lead existed before leadsync did
  on.clock.jump(MINUTE);
  const created_at = on.clock.now().toISOString();
  await on.list([leads + 1, ...ids(1, leads).map((id) => aListedLead({ id, created_at }))]);
  await on.attemptAll('crm', delivered);
  const run: unknown[] = [];
  const db = new Database(disk.file, { readonly: true, verbose: (sql) => run.push(sql) });
  onTestFinished(() => void db.close());
  expect(new PageQueries(db).speed(new Date(0))).toMatchObject([{ sink: 'crm', leads }]);
  return run.length;
}

/** Opens a ledger, uses everything that prepares statements, and returns the statements. */
async function usedLedger(): Promise<{ statements: readonly string[]; connection: Database.Database }> {
  const statements = new Set<string>();
  const disk = new SqliteFile((db) => {
    const prepare = db.prepare.bind(db);
    db.prepare = ((sql: string) => {
      statements.add(sql.replace(/\s+/g, ' ').trim());
      return prepare(sql);
    }) as typeof db.prepare;
  });
  const on = await LedgerUnderTest.with(
    disk.open,
    'crm',
    aSink('mirror', { events: ['created', 'updated'] }),
  );
  await use(on);
  askForPages(new PageQueries(disk.connection), on.clock.now());
  const asked = [...statements].filter((sql) => /^(WITH|SELECT|INSERT|UPDATE|DELETE)\b/.test(sql));
  return { statements: asked, connection: disk.connection };
}

const FILTERS = [
  {},
  { webhookId: 'crm:main:1:1:0a1b2c3d' },
  { webhookId: `batch_${'0'.repeat(32)}` },
  { sink: 'crm' },
  { source: 'main' },
  { lead: 1n },
  { states: ['dead', 'discarded'] as const },
  { reason: '422' },
];

/** Calls the functions that prepare their statements only when called. */
async function use(on: LedgerUnderTest): Promise<void> {
  const { ledger, clock } = on;
  await on.list([1, 2, 3]);
  await on.attemptAll('crm', unavailable);
  await on.list([changedLead(1, 'B'), 2, 3]);
  await on.attemptAll('crm', refused);
  await on.attemptAll('mirror', delivered);
  await ledger.backfill('crm');
  await ledger.retry({ states: ['dead', 'pending'] });
  for (const filter of FILTERS) await ledger.deliveries(filter, { limit: 2 });
  await ledger.replay('crm', { lead: 1n });
  await ledger.replay('crm', {});
  await ledger.replay('crm', { leftOut: true });
  const ids = { leads: [1n], deliveries: ['crm:main:1:1:0a1b2c3d'] };
  await ledger.replay('crm', { ids, reason: '422' });
  await ledger.replayable('crm', { reason: '422' });
  await ledger.retry({ ids });
  await ledger.discard({ ids }, { by: 'a test', note: 'for a test' });
  await ledger.cancellable('crm');
  await ledger.cancelReplays('crm');
  await ledger.forgettable('crm');
  await ledger.trace(1n);
  await ledger.vitals(clock.in(-1000));
  await ledger.upcoming('crm', 1n);
  await ledger.sinkActivity('crm', { now: clock.now(), periodMs: 3_600_000, stepMs: 300_000 });
  await ledger.feed(await ledger.feedCursor(), true);
  await ledger.recentAttempts(3);
  await ledger.lastPolls(3);
  await mirrored(ledger).overview();
  await ledger.leadsAtSink('crm', [{ source: 'main', leadId: 1n }]);
  await ledger.deliveredLeads('crm', { from: clock.in(-1000), to: clock.now() }, 0, 10);
  await ledger.clockWentBack(1000);
  await ledger.pause('crm', 'for a test');
  await ledger.resume('crm');
  await ledger.computeClientKeys(undefined);
}

/** Runs every query of the pages and the API, with every filter. */
function askForPages(questions: PageQueries, now: Date): void {
  for (const order of ['newest', 'oldest'] as const) askForLists(questions, now, order);
  questions.status();
  questions.sinkActivity('crm', { now, periodMs: 3_600_000, stepMs: 300_000 });
  questions.failureReasons();
  questions.attemptTotals({ now, periodMs: 3_600_000 });
  questions.newLeads(now, 24);
  questions.speed(now);
  questions.services(2);
  questions.findLeads({ text: 'ada' }, 2);
  questions.lead('main', 1n);
  questions.content('main', 1n);
  questions.content('main', 1n, 1);
  questions.content('main', 1n, undefined, 'crm:main:1:1:0a1b2c3d');
  for (const filter of FILTERS) questions.countDeliveries(filter, 10);
  for (const search of [{}, { service: 'plumbing' }, { service: 'plumbing', since: now }])
    questions.countLeads(search, 10);
  for (const search of [{}, { result: 'failed' as const }, { result: 'shrunk' as const }])
    questions.countPolls(search, 10);
  questions.countRejected({}, 10);
  questions.countDue('crm', now, 10);
}

/** Runs every query that lists rows, with every filter. */
function askForLists(questions: PageQueries, now: Date, order: Order): void {
  const page = { limit: 2, order };
  const searches = [{}, { source: 'main' }, { lead: 1n }, { service: 'plumbing' }, { since: now }];
  for (const search of [
    ...searches,
    { delivered: 'not-everywhere' as const },
    { listing: 'gone' as const },
    { listing: 'gone' as const, source: 'main' },
  ])
    questions.leads(search, page);
  for (const filter of FILTERS) questions.deliveries(filter, page);
  for (const status of [undefined, 'failed' as const]) questions.polls({ status }, page);
  questions.polls({ result: 'shrunk' }, page);
  questions.rejected({}, page);
}

/**
 * Returns what a plan should not do: read a whole large table, everything of one sink or source in it, or all its rows backwards from a
 * number. Reading forwards from a number is permitted, because that happens in parts.
 */
function faultsOf(db: Database.Database, sql: string): string[] {
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`);
  const rows = plan.all(...parametersOf(sql)) as { detail: string }[];
  const views = db.prepare("SELECT sql FROM sqlite_schema WHERE type = 'view'").pluck().all() as string[];
  return rows.flatMap(({ detail }) => {
    const [, how, name = ''] = /^(SCAN|SEARCH) (\w+)/.exec(detail) ?? [];
    if (detail.includes('VIRTUAL TABLE')) return [];
    const isMany = how === 'SCAN' || /\(((sink_no|source)=\?|rowid<\?)\)/.test(detail);
    const table = [sql, ...views].map((text) => tableOf(text, name)).find((found) => found !== undefined);
    return isMany && table !== undefined ? [`${detail} (${table}): ${sql}`] : [];
  });
}

/** Returns the large table that a name means in a statement: the table itself, or the one that it is an alias of. */
function tableOf(sql: string, name: string): string | undefined {
  return LARGE.find(
    (table) => name === table || new RegExp(`\\b${table}\\s+(AS\\s+)?${name}\\b`, 'i').test(sql),
  );
}

/** Returns a null for each parameter. */
function parametersOf(sql: string): unknown[] {
  const bare = sql.replace(/'[^']*'/g, '');
  const named = [...bare.matchAll(/[:@](\w+)/g)].map(([, name]) => [name, null]);
  const positional = [...bare.matchAll(/\?/g)].map(() => null);
  return named.length > 0 ? [...positional, Object.fromEntries(named)] : positional;
}
