import { expect, onTestFinished, test } from 'vitest';
import type { ListedItem } from '../../src/leads/listed-lead.ts';
import type { LedgerError } from '../../src/ledger/contract/ledger-error.ts';
import { QueryThread } from '../../src/ledger/queries/start-query-thread.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { until } from '../support/time/until.ts';
import { delivered, HOUR, ids, LedgerUnderTest, MINUTE, refused } from './ledger-under-test.ts';
import { PageMap } from './recovery/damage.ts';
import { SqliteFile } from './sqlite-store.ts';

type Options = ConstructorParameters<typeof QueryThread>[1];

async function opened(options: Options = {}, ...sinks: string[]) {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, ...(sinks.length > 0 ? sinks : ['crm']));
  // A busy machine must not fail these tests.
  const queries = new QueryThread(disk.file, { timeoutMs: 60_000, ...options });
  onTestFinished(() => queries.close());
  return { disk, on, queries };
}

/** Returns every row of a list, page by page. */
async function all<Row>(
  ask: (after: string | undefined) => Promise<{ rows: readonly Row[]; next: string | null }>,
) {
  const rows: Row[] = [];
  let next: string | null | undefined;
  do {
    const page = await ask(next ?? undefined);
    rows.push(...page.rows);
    next = page.next;
  } while (next !== null);
  return rows;
}

test('the ledger records damage that only a page of the UI finds', async () => {
  const { disk, on, queries: sound } = await opened();
  await on.list(ids(1, 200));
  await sound.close();
  disk.other((db) => db.pragma('wal_checkpoint(TRUNCATE)'));
  const map = new PageMap(disk.file);
  map.overwrite(map.of('_versions', 'leaf').map(({ pageno }) => pageno));
  const onDamage = (damage: LedgerError) => on.ledger.reportDamage(damage);
  const queries = new QueryThread(disk.file, { timeoutMs: 60_000, onDamage });
  onTestFinished(() => queries.close());
  expect(on.ledger.failing()).toBeUndefined();
  await expect(queries.ask('leads', {}, { limit: 100 })).rejects.toMatchObject({ code: 'damaged' });
  expect(on.ledger.failing()).toMatchObject({
    code: 'damaged',
    hint: expect.stringContaining('leadsync recover'),
  });
});

const inService = (service_slug: string) => (id: number) => aListedLead({ id, service_slug });

test('leads come newest first, page by page, each once, across several sources', async () => {
  const { on, queries } = await opened();
  for (const [source, from] of [
    ['a', 1],
    ['b', 11],
    ['a', 21],
  ] as const) {
    await on.list(ids(source === 'a' ? 1 : from, from + 9), source);
    on.clock.jump(MINUTE);
  }
  const leads = await all((after) => queries.ask('leads', {}, { limit: 7, after }));
  const named = leads.map(({ source, lead }) => `${source}${lead}`);
  expect(named).toEqual([
    ...ids(11, 30)
      .reverse()
      .map((id) => `a${id}`),
    ...ids(11, 20)
      .reverse()
      .map((id) => `b${id}`),
    ...ids(1, 10)
      .reverse()
      .map((id) => `a${id}`),
  ]);
});

test('leads can be found by id, source, service and time', async () => {
  const { on, queries } = await opened();
  const before = on.clock.now();
  await on.list([...ids(1, 3).map(inService('cleaning')), ...ids(4, 6).map(inService('moving'))]);
  on.clock.jump(HOUR);
  const later = on.clock.now();
  await on.list([1, 2, 3].map(inService('cleaning')).concat([4, 5, 6, 7].map(inService('moving'))));
  await on.list([aListedLead({ id: 7 })], 'other');
  const found = async (search: Parameters<typeof queries.ask<'leads'>>[1]) =>
    (await queries.ask('leads', search, { limit: 100 })).rows.map(({ source, lead }) => `${source} ${lead}`);
  expect(await found({ lead: 7n })).toEqual(['other 7', 'main 7']);
  expect(await found({ lead: 7n, source: 'main' })).toEqual(['main 7']);
  expect(await found({ lead: 7n, service: 'cleaning' })).toEqual([]);
  expect(await found({ service: 'moving' })).toEqual(['main 7', 'main 6', 'main 5', 'main 4']);
  expect(await found({ service: 'moving', since: later })).toEqual(['main 7']);
  expect(await found({ service: 'moving', until: later })).toEqual(['main 6', 'main 5', 'main 4']);
  expect(await found({ service: 'moving', source: 'other' })).toEqual([]);
  expect(await found({ since: later })).toEqual(['other 7', 'main 7']);
  expect(await found({ since: before, until: later, source: 'main' })).toHaveLength(6);
  expect(await found({ source: 'nobody' })).toEqual([]);
});

test('leads that are no longer listed can be found, the last to vanish first, with the time', async () => {
  const { on, queries } = await opened();
  await on.list([...ids(1, 4).map(inService('cleaning')), ...ids(5, 9).map(inService('moving'))]);
  await on.list(ids(1, 3), 'other');
  on.clock.jump(HOUR);
  const listedAt = on.clock.now().getTime() - HOUR;
  const moving = ids(5, 9).map(inService('moving'));
  await on.list([...ids(1, 2).map(inService('cleaning')), ...moving]);
  on.clock.jump(HOUR);
  const later = on.clock.now();
  await on.list([...ids(1, 3).map(inService('cleaning')), ...moving.slice(1)]);
  await on.list(ids(2, 3), 'other');
  const found = async (search: Parameters<typeof queries.ask<'leads'>>[1]) =>
    (await all((after) => queries.ask('leads', search, { limit: 2, after }))).map(
      ({ source, lead }) => `${source} ${lead}`,
    );
  // Lead 3 is listed again.
  expect(await found({ listing: 'gone' })).toEqual(['other 1', 'main 5', 'main 4']);
  expect(await found({ listing: 'gone', source: 'main' })).toEqual(['main 5', 'main 4']);
  expect(await found({ listing: 'gone', service: 'moving' })).toEqual(['main 5']);
  expect(await found({ listing: 'gone', since: later })).toEqual(['other 1', 'main 5']);
  expect(await found({ listing: 'gone', until: later })).toEqual(['main 4']);
  expect(await found({ listing: 'gone', lead: 4n })).toEqual(['main 4']);
  expect(await found({ listing: 'gone', lead: 3n })).toEqual([]);
  expect(await found({ listing: 'current', source: 'other' })).toEqual(['other 3', 'other 2']);
  expect(await found({ listing: 'current', service: 'cleaning' })).toEqual(['main 3', 'main 2', 'main 1']);
  const [row] = (await queries.ask('leads', { lead: 4n, source: 'main' }, { limit: 1 })).rows;
  expect(row).toMatchObject({ goneAt: listedAt + HOUR, lastListedAt: listedAt });
  expect((await queries.ask('lead', 'main', 3n))?.lead).toMatchObject({ goneAt: null, lastListedAt: null });
});

test('a lead whose service changes is found under its current service', async () => {
  const { on, queries } = await opened();
  await on.list([inService('cleaning')(1)]);
  on.clock.jump(MINUTE);
  await on.list([inService('moving')(1)]);
  const found = async (service: string) =>
    (await queries.ask('leads', { service }, { limit: 9 })).rows.length;
  expect(await found('cleaning')).toBe(0);
  expect(await found('moving')).toBe(1);
  on.clock.jump(MINUTE);
  await on.list([aListedLead({ id: 1, service_slug: 'moving', client_name: 'Otherwise' })]);
  expect(await found('moving')).toBe(1);
});

test('a lead says how many of its sinks have its last delivery, without those for which it was skipped', async () => {
  const { on, queries } = await opened({}, 'crm', 'drop', 'gone');
  await on.list(ids(1, 3));
  await on.attemptAll('crm');
  await on.attemptAll('drop', refused, { max: 2 });
  await on.declare('crm', 'drop');
  await on.ledger.forget('gone');
  const progress = async () =>
    (await queries.ask('leads', {}, { limit: 10 })).rows.map(
      ({ lead, deliveredSinks, owedSinks }) => `${lead}: ${deliveredSinks} of ${owedSinks}`,
    );
  expect(await progress()).toEqual(['3: 1 of 2', '2: 1 of 2', '1: 1 of 2']);
  await on.ledger.replay('drop', { lead: 2n });
  await on.attemptAll('drop');
  expect(await progress()).toEqual(['3: 1 of 2', '2: 2 of 2', '1: 1 of 2']);
  await on.ledger.replay('crm', { lead: 2n }); // is owed again
  expect(await progress()).toEqual(['3: 1 of 2', '2: 1 of 2', '1: 1 of 2']);
});

test('leads are counted by any filter, up to a maximum', async () => {
  const { on, queries } = await opened();
  await on.list(ids(1, 4));
  const since = on.clock.now();
  on.clock.jump(HOUR);
  await on.list([5, 6].map(inService('plumbing')), 'other');
  await on.list(ids(2, 4));
  const counted = (search: object, most = 100) => queries.ask('countLeads', search, most);
  const count = async (search: object) => (await counted(search)).count;
  expect(await count({})).toBe(6);
  expect(await counted({}, 5)).toEqual({ count: 5, isAtLeast: true });
  expect(await counted({ service: 'plumbing' })).toEqual({ count: 2, isAtLeast: false });
  expect(await count({ source: 'main' })).toBe(4);
  expect(await count({ since: new Date(since.getTime() + 1) })).toBe(2);
  expect(await count({ until: new Date(since.getTime() + 1) })).toBe(4);
  expect(await count({ service: 'plumbing' })).toBe(2);
  expect(await count({ listing: 'gone' })).toBe(1);
  expect(await count({ listing: 'current', source: 'main' })).toBe(3);
  expect(await count({ lead: 5n })).toBe(1);
});

test('deliveries of several sinks and states come newest first, each once, and are counted', async () => {
  const { on, queries } = await opened({}, 'crm', 'drop');
  await on.list(ids(1, 5));
  await on.attemptAll('crm');
  on.clock.jump(MINUTE);
  await on.list(ids(1, 8));
  await on.attemptAll('crm', refused);
  const page = (filter: Parameters<typeof queries.ask<'deliveries'>>[1]) =>
    all((after) => queries.ask('deliveries', filter, { limit: 3, after }));
  const everything = await page({});
  expect(everything).toHaveLength(16);
  expect(new Set(everything.map(({ delivery }) => delivery)).size).toBe(16);
  expect(everything.map(({ owedAt }) => owedAt.getTime())).toEqual(
    everything.map(({ owedAt }) => owedAt.getTime()).sort((a, b) => b - a),
  );
  expect((await page({ sink: 'crm' })).map(({ lead, state }) => `${lead} ${state}`)).toEqual([
    ...['8 dead', '7 dead', '6 dead'],
    ...ids(1, 5)
      .reverse()
      .map((id) => `${id} delivered`),
  ]);
  expect((await page({ lead: 7n })).map(({ sink, state }) => `${sink} ${state}`)).toEqual([
    'drop pending',
    'crm dead',
  ]);
  const counted = async (filter: Parameters<typeof queries.ask<'deliveries'>>[1]) =>
    (await queries.ask('countDeliveries', filter, 10_000)).count;
  expect(await counted({})).toBe(16);
  expect(await queries.ask('countDeliveries', {}, 10)).toEqual({ count: 10, isAtLeast: true });
  expect(await counted({ sink: 'crm', states: ['dead'] })).toBe(3);
  expect(await counted({ sink: 'crm', states: ['dead'], since: on.clock.in(1) })).toBe(0);
  expect(await counted({ source: 'main' })).toBe(16);
  expect(await counted({ source: 'other' })).toBe(0);
  expect(await counted({ delivery: everything[0]?.delivery })).toBe(1);
});

test('a lead comes with its versions, its deliveries and each attempt', async () => {
  const { on, queries } = await opened();
  await on.list([1]);
  await on.attemptAll('crm', refused);
  on.clock.jump(MINUTE);
  await on.list([aListedLead({ id: 1, client_name: 'Otherwise' })]);
  const history = await queries.ask('lead', 'main', 1n);
  expect(history?.lead).toMatchObject({ source: 'main', lead: '1', service: 'house-cleaning', version: 2 });
  expect(history?.versions.map(({ version, changedFields }) => [version, changedFields])).toEqual([
    [2, ['client_name']],
    [1, null],
  ]);
  expect(history?.deliveries).toMatchObject([
    { sink: 'crm', state: 'pending', attemptRows: [] },
    { sink: 'crm', state: 'dead', attemptRows: [{ outcome: 'refused', httpStatus: 422, times: 1 }] },
  ]);
  expect(
    JSON.stringify(history, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
  ).not.toContain('Anna');
  expect(await queries.ask('lead', 'main', 2n)).toBeUndefined();
  expect((await queries.ask('content', 'main', 1n))?.raw).toContain('Otherwise');
  expect(await queries.ask('content', 'main', 1n, 2)).toMatchObject({
    version: 2,
    changedFields: ['client_name'],
    raw: expect.stringContaining('Otherwise'),
    rawBefore: expect.stringContaining('Anna'),
    answers: [],
  });
  const first = await queries.ask('content', 'main', 1n, 1);
  expect(first).toMatchObject({ version: 1, changedFields: null, rawBefore: null });
  expect(first?.raw).toContain('Anna');
  for (const version of [0, 3]) expect(await queries.ask('content', 'main', 1n, version)).toBeUndefined();
});

test('polls come newest first and can be found by source and status', async () => {
  const { on, queries } = await opened();
  await on.list([1]);
  await on.list([1], 'other', { status: 'failed', httpStatus: 503, error: 'server: It is down.' });
  await on.list([1, 2]);
  const rows = await all((after) => queries.ask('polls', {}, { limit: 1, after }));
  expect(rows.map(({ poll_id, listed_before }) => [poll_id, listed_before])).toEqual([
    [3, 1],
    [2, null],
    [1, null],
  ]);
  expect((await queries.ask('polls', { status: 'failed' }, { limit: 9 })).rows).toMatchObject([
    { poll_id: 2, http_status: 503, error: 'server: It is down.' },
  ]);
  expect(
    (await queries.ask('polls', { source: 'main' }, { limit: 9 })).rows.map(({ poll_id }) => poll_id),
  ).toEqual([3, 1]);
});

test('new leads are counted by hour, and their latency is measured without those of a first sync', async () => {
  const { on, queries } = await opened({}, 'crm', 'drop');
  await on.list([5]); // this lead existed before leadsync did
  on.clock.jump(MINUTE);
  const created_at = on.clock.now().toISOString();
  await on.list([5, ...ids(1, 4).map((id) => aListedLead({ id, created_at }))]);
  on.clock.jump(10_000);
  await on.attemptAll('crm', delivered);
  const hours = await queries.ask('newLeads', on.clock.now(), 48);
  expect(hours).toHaveLength(48);
  expect(hours.slice(0, -1).every(({ leads }) => leads === 0)).toBe(true);
  expect(hours.at(-1)?.leads).toBe(5);
  const [crm, drop] = await queries.ask('speed', on.clock.in(-HOUR));
  expect(crm).toMatchObject({ sink: 'crm', leads: 4, seenToDelivered: { p50: 10_000, p95: 10_000 } });
  expect(drop).toMatchObject({ sink: 'drop', leads: 0, seenToDelivered: undefined });
  expect(await queries.ask('speed', on.clock.in(HOUR))).toMatchObject([{ leads: 0 }, { leads: 0 }]);
});

test('rejected leads come newest first, with their polls, and can be found by source and state', async () => {
  const { on, queries } = await opened();
  const broken = (id: number | undefined, raw: string): ListedItem => ({
    kind: 'rejected',
    position: 0,
    id: id === undefined ? undefined : BigInt(id),
    reason: 'must be a number',
    path: 'id',
    hash: raw,
    raw,
  });
  await on.list([broken(undefined, '{"id":"x"}')]);
  await on.list([broken(undefined, '{"id":"x"}'), broken(9, '{"id":9}')]);
  const rows = await all((after) => queries.ask('rejected', {}, { limit: 1, after }));
  expect(rows).toMatchObject([
    { rejected_id: 2, lead_id: '9', poll_id: 2, last_poll_id: 2, resolved_at: null },
    { rejected_id: 1, lead_id: null, path: 'id', reason: 'must be a number', poll_id: 1, last_poll_id: 2 },
  ]);
  expect(rows.map(({ state }) => state)).toEqual(['open', 'open']);
  const idsOf = async (state: 'open' | 'gone' | 'resolved') =>
    (await queries.ask('rejected', { state }, { limit: 9 })).rows.map(({ rejected_id }) => rejected_id);
  // A listing that broke off says nothing about what it did not reach.
  await on.list([], 'main', { status: 'partial', httpStatus: 200, error: 'network: It was reset.' });
  expect([await idsOf('open'), await idsOf('gone')]).toEqual([[2, 1], []]);
  await on.list([broken(undefined, '{"id":"x"}')]);
  expect([await idsOf('open'), await idsOf('gone')]).toEqual([[1], [2]]);
  await on.list([9]);
  expect([await idsOf('open'), await idsOf('gone'), await idsOf('resolved')]).toEqual([[], [1], [2]]);
  expect((await queries.ask('rejected', { source: 'other' }, { limit: 9 })).rows).toEqual([]);
  expect(JSON.stringify(rows)).not.toContain('"x"');
  expect(await queries.ask('rejectedText', 1)).toMatchObject({
    rejected_id: 1,
    source: 'main',
    lead_id: null,
    path: 'id',
    reason: 'must be a number',
    raw: '{"id":"x"}',
  });
  expect(await queries.ask('rejectedText', 3)).toBeUndefined();
});

test('an invalid cursor is rejected, and the thread continues', async () => {
  const { queries } = await opened();
  await expect(queries.ask('leads', {}, { limit: 5, after: "0' OR 1" })).rejects.toMatchObject({
    name: 'LedgerError',
    hint: expect.stringContaining('after'),
  });
  expect(await queries.ask('leads', {}, { limit: 5 })).toEqual({ rows: [], next: null });
});

test('the thread ends when it is idle, and starts again for the next query', async () => {
  const { queries } = await opened({ idleMs: 20 });
  expect(queries.awake).toBe(false);
  await queries.ask('status');
  expect(queries.awake).toBe(true);
  await until('the thread has ended', () => !queries.awake);
  expect((await queries.ask('status')).sinks).toHaveLength(1);
});

test('a query that takes too long is rejected, and the next one is answered', async () => {
  const { queries } = await opened({ timeoutMs: 1 });
  const asked = queries.ask('status'); // starting the thread takes longer than that
  await expect(asked).rejects.toMatchObject({ name: 'LedgerBusy', hint: expect.stringContaining('Narrow') });
  await until('a question is answered', async () =>
    queries.ask('status').then(
      () => true,
      () => !queries.awake,
    ),
  );
});

test('a few hundred queries may wait at most', async () => {
  const { queries } = await opened();
  const asked = Array.from({ length: 201 }, () =>
    queries.ask('status').then(
      () => 'answered',
      (error) => error.name,
    ),
  );
  expect((await Promise.all(asked)).filter((outcome) => outcome === 'LedgerBusy')).toHaveLength(1);
});

test('the query thread cannot write', async () => {
  const { disk, queries } = await opened();
  const before = disk.contents();
  await queries.ask('status');
  expect(disk.contents()).toEqual(before);
});

test('while a query runs, the process continues with other work', async () => {
  const { on, queries } = await opened();
  for (const start of [1, 501, 1001, 1501]) await on.list(ids(1, start + 499));
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  await Promise.all(Array.from({ length: 20 }, () => queries.ask('speed', new Date(0))));
  clearInterval(timer);
  expect(turns).toBeGreaterThan(10);
});

test("the answers of destinations come with a lead's content, newest first, and nowhere else", async () => {
  const { on, queries } = await opened();
  await on.list(ids(1, 2));
  await on.attemptAll('crm', { ...refused, answer: 'no agent for Anna' });
  on.clock.jump(MINUTE);
  await on.ledger.retry({ lead: 1n });
  await on.attemptAll('crm', { ...refused, answer: 'still none' });
  expect((await queries.ask('content', 'main', 1n))?.answers).toMatchObject([
    { sink: 'crm', outcome: 'refused', answer: 'still none' },
    { sink: 'crm', outcome: 'refused', answer: 'no agent for Anna' },
  ]);
  expect(
    JSON.stringify([await queries.ask('lead', 'main', 1n)], (_, value) =>
      typeof value === 'bigint' ? `${value}` : value,
    ),
  ).not.toContain('Anna');
});

test('a delivery says how often it was attempted in all, and whether it was answered, also after a retry', async () => {
  const { on, queries } = await opened();
  await on.list(ids(1, 2));
  await on.attemptAll('crm', { ...refused, answer: 'no agent for Anna' });
  await on.ledger.retry({ lead: 1n });
  const { rows } = await queries.ask('deliveries', {}, { limit: 9 });
  expect(rows).toMatchObject([
    { lead: '2', state: 'dead', attempts: 1, attemptsMade: 1, hasAnswer: true },
    { lead: '1', state: 'pending', attempts: 0, attemptsMade: 1, hasAnswer: true },
  ]);
  const answersOf = async (delivery: string | undefined) =>
    (await queries.ask('content', 'main', 1n, undefined, delivery))?.answers.length;
  expect(await answersOf(rows[1]?.delivery)).toBe(1);
  expect(await answersOf(rows[0]?.delivery)).toBe(0);
  await on.attemptAll('crm', delivered);
  const [, again] = (await queries.ask('deliveries', {}, { limit: 9 })).rows;
  expect(again).toMatchObject({ state: 'delivered', attempts: 1, attemptsMade: 2 });
  const totals = await queries.ask('attemptTotals', { now: on.clock.now(), periodMs: 10 * MINUTE });
  expect(totals).toMatchObject([{ sink: 'crm', total: { delivered: 1, refused: 2, unavailable: 0 } }]);
  const { recent = [] } =
    (await queries.ask('sinkActivity', 'crm', { now: on.clock.now(), periodMs: MINUTE, stepMs: MINUTE })) ??
    {};
  expect(recent.map(({ outcome, hasAnswer }) => [outcome, hasAnswer])).toEqual([
    ['delivered', false],
    ['refused', true],
    ['refused', true],
  ]);
});

test('the services are those of every lead, once each and in order, as many as are asked for', async () => {
  const { on, queries } = await opened();
  const slugs = ['solar', 'cleaning', 'solar', 'painting', 'cleaning'];
  await on.list(slugs.map((service_slug, at) => aListedLead({ id: at + 1, service_slug }, at)));
  expect(await queries.ask('services', 10)).toEqual(['cleaning', 'painting', 'solar']);
  expect(await queries.ask('services', 2)).toEqual(['cleaning', 'painting']);
});
