import { expect, it } from 'vitest';
import { judgeBy } from '../../src/delivery/judge.ts';
import type { SharedLedger } from '../../src/ledger/contract/machines.ts';
import { DUTY_LEASE_MS } from '../../src/ledger/rules/machines/lease-times.ts';
import { inspectServer } from '../../src/ledger-postgres/inspect-server.ts';
import { openPostgresLedger } from '../../src/ledger-postgres/postgres-ledger.ts';
import { aSink, ids, LedgerUnderTest, MINUTE, unavailable } from '../ledger/ledger-under-test.ts';
import { HeldClock } from '../support/time/held-clock.ts';
import { PostgresStore } from './postgres-store.ts';

const LEASE_MS = DUTY_LEASE_MS;
const beginning = { beginForMs: MINUTE };

const judge = judgeBy(
  () => ({ scheduleMs: [5_000], jitter: 0 }),
  () => 0.5,
);

/** Two processes on one ledger, which go by one clock. */
async function twoProcesses(...sinks: string[]) {
  const store = new PostgresStore();
  const clock = new HeldClock();
  const start = (holder: string) => {
    const ledger = store.open({ clock, judge, random: Math.random, holder });
    const on = new LedgerUnderTest(() => ledger, clock);
    /** Shows that the process is alive and has these sinks and sources. */
    const beat = async (names: readonly string[] = sinks, sources: readonly string[] = []) => {
      const machines = await (ledger as SharedLedger).machines(LEASE_MS);
      const wants = sources.map((source) => `poll:${source}`);
      const life = { machine: holder, role: 'run', sinks: names, folders: [], wants, reluctant: [] };
      return machines.beat(life, () => []);
    };
    return { on, beat };
  };
  const [one, other] = [start('one'), start('other')];
  for (const { on, beat } of [one, other]) {
    await on.declare(...sinks);
    await beat();
  }
  return { store, clock, one, other };
}

it('each process that attempts what it claims has the whole window of a sink', async () => {
  const { one, other } = await twoProcesses('crm');
  await one.on.list(ids(1, 10));
  expect((await one.on.claim('crm', { window: 3, ...beginning })).refs).toHaveLength(3);
  expect((await one.on.claim('crm', { window: 3, ...beginning })).refs).toEqual([]);
  expect((await other.on.claim('crm', { window: 3, ...beginning })).refs).toHaveLength(3);
  expect((await other.on.claim('crm', { window: 3, ...beginning })).refs).toEqual([]);
});

it('a process that has claimed before, and knows the health of the sink, has the whole window too', async () => {
  const { one, other } = await twoProcesses('crm');
  expect((await other.on.claim('crm', { window: 3, ...beginning })).refs).toEqual([]);
  await one.on.list(ids(1, 10));
  expect((await one.on.claim('crm', { window: 3, ...beginning })).refs).toHaveLength(3);
  expect((await other.on.claim('crm', { window: 3, ...beginning })).refs).toHaveLength(3);
  expect((await other.on.claim('crm', { window: 3, ...beginning })).refs).toEqual([]);
});

it('processes that claim for a queue share the window of a sink', async () => {
  const { one, other } = await twoProcesses('crm');
  await one.on.list(ids(1, 10));
  expect((await one.on.claim('crm', { window: 3 })).refs).toHaveLength(3);
  expect((await other.on.claim('crm', { window: 3 })).refs).toEqual([]);
});

it('a held sink lets one probe out among all processes', async () => {
  const { clock, one, other } = await twoProcesses('crm');
  await one.on.list(ids(1, 4));
  await one.on.attemptAll('crm', { ...unavailable, retryAfterMs: 10 * MINUTE }, { window: 1, ...beginning });
  clock.jump(11 * MINUTE);
  expect((await one.on.claim('crm', beginning)).refs).toHaveLength(1);
  expect((await other.on.claim('crm', beginning)).refs).toEqual([]);
});

it('a process with an old configuration retires no sink of another one that lives', async () => {
  const { clock, store, one, other } = await twoProcesses('crm', 'erp');
  const active = async () =>
    (await store.query('SELECT sink FROM _sinks WHERE active ORDER BY sink')).map(({ sink }) => sink);
  await other.beat(['crm']);
  await other.on.declare('crm');
  expect(await active()).toEqual(['crm', 'erp']);
  // Once nothing has shown for a lease that the other process is alive, its sink is retired.
  clock.jump(LEASE_MS + 1);
  await other.beat(['crm']);
  await other.on.declare('crm');
  expect(await active()).toEqual(['crm']);
  await one.beat();
  await one.on.declare('crm', 'erp');
  expect(await active()).toEqual(['crm', 'erp']);
});

it('a sink that a living process still has under its old name is not renamed', async () => {
  const { one, other } = await twoProcesses('crm');
  await other.beat(['crm', 'new-crm']);
  const renamed = () => other.on.declare(aSink('new-crm', { formerly: 'crm' }));
  await expect(renamed()).rejects.toMatchObject({
    code: 'name-taken',
    message: expect.stringContaining('another leadsync on this ledger still has a sink crm'),
  });
  await one.beat([]);
  await renamed();
});

it('a source stays declared while a living process would poll it', async () => {
  const { one, other } = await twoProcesses('crm');
  const declared = async () =>
    (await one.on.ledger.lastDeclaration()).sources
      .filter(({ config }) => config !== undefined)
      .map(({ name }) => name);
  await one.on.ledger.declareSources([{ name: 'main', config: '{}' }]);
  await one.beat([], ['main']);
  await other.on.ledger.declareSources([{ name: 'other', config: '{}' }]);
  expect(await declared()).toEqual(['main', 'other']);
  await one.beat([], []);
  await other.on.ledger.declareSources([{ name: 'other', config: '{}' }]);
  expect(await declared()).toEqual(['other']);
});

it('the leases of a process are reclaimed only once it was removed, and not if it has come back', async () => {
  const { one, other } = await twoProcesses('crm');
  await one.on.list([1]);
  await one.on.claim('crm', beginning);
  expect(await other.on.ledger.reclaimLeases('one')).toBe(0);
  const machines = await (other.on.ledger as SharedLedger).machines(LEASE_MS);
  await machines.remove('one');
  await one.beat();
  expect(await other.on.ledger.reclaimLeases('one')).toBe(0);
  await machines.remove('one');
  expect(await other.on.ledger.reclaimLeases('one')).toBe(1);
  expect((await other.on.claim('crm', beginning)).refs).toHaveLength(1);
});

it('a ledger on which a process works is not upgraded, and the error names the process', async () => {
  const { store, clock, one } = await twoProcesses('crm');
  await store.query('UPDATE _ledger SET shape = shape - 1');
  const open = () =>
    openPostgresLedger({ ...store.place(), clock, random: Math.random, judge, create: true });
  await expect(open()).rejects.toMatchObject({
    code: 'held',
    message: expect.stringMatching(
      /leadsync run on one, since \d{4}-\d\d-\d\dT[\d:]{8}Z, leadsync run on other, /,
    ),
  });
  expect((await inspectServer(store.place())).inUseBy).toContain('leadsync run on one, since ');
  // Processes that were killed count for a lease.
  clock.jump(LEASE_MS);
  await one.on.ledger.listingMark('main').catch(() => undefined);
  expect((await inspectServer(store.place())).inUseBy).toBeUndefined();
});
