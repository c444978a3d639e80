import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import type { PostgresPlace } from '../../src/ledger-postgres/database/postgres-access.ts';
import { delivered, HOLDER, HOUR, LedgerUnderTest, MINUTE } from '../ledger/ledger-under-test.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { requireDatabaseUrl } from '../support/servers/services.ts';
import { until } from '../support/time/until.ts';
import { endedOrWaits, PostgresStore } from './postgres-store.ts';

/** Stops a transaction before a statement: the one that comes `after` so many others once it is set. */
function stopBefore(statement: string, place: Partial<PostgresPlace> = {}) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const stop = { after: Number.NaN, begun: 0, reached: reached.promise, release: released.resolve };
  const beforeStatement = (name: string) => {
    if (name === 'begin') stop.begun += 1;
    if (name !== statement || Number.isNaN(stop.after)) return undefined;
    stop.after -= 1;
    if (stop.after !== -1) return undefined;
    reached.resolve();
    return released.promise;
  };
  return { store: new PostgresStore({ ...place, beforeStatement }), stop };
}

it('a poll that begins and the former one that records wait for each other in one order', async () => {
  const { store, stop } = stopBefore('fail-unfinished');
  const on = await LedgerUnderTest.with(store.open, 'crm');
  const poll = await on.ledger.startPoll('main');
  await on.ledger.record(poll, [aListedLead({ id: 1 })]);
  stop.after = 0;
  const other = on.again().ledger.startPoll('main');
  await stop.reached;
  const before = stop.begun;
  const recorded = on.ledger.record(poll, [aListedLead({ id: 2 })]).catch((error: unknown) => error);
  await endedOrWaits(store, recorded);
  stop.release();
  await other;
  expect(await recorded).toMatchObject({ code: 'fenced' });
  // One transaction looks the lead up, and one records. After a deadlock, there would be another one.
  expect(stop.begun - before).toBe(2);
});

it.each([
  ['back', { backMs: HOUR, dueInMs: 2 * MINUTE, refs: 1 }],
  ['ahead', { backMs: -HOUR, dueInMs: 0, refs: 0 }],
])(
  'a claim that reads the time before the clock is set %s, and is committed afterwards, has its lease moved',
  async (_, { backMs, dueInMs, refs }) => {
    const { store, stop } = stopBefore('commit');
    const on = await LedgerUnderTest.with(store.open, 'crm');
    await on.list([1]);
    const other = on.again();
    await other.claim('crm', { most: 0 });
    stop.after = 0;
    const claiming = on.claim('crm', { window: 1, beginForMs: MINUTE });
    await stop.reached;
    on.clock.setBack(backMs);
    const following = other.ledger.clockWentBack(HOUR);
    await endedOrWaits(store, following);
    stop.release();
    await Promise.all([claiming, following]);
    on.clock.jump(dueInMs);
    expect((await other.claim('crm', { window: 1 })).refs).toHaveLength(refs);
  },
);

it('a sink is forgotten completely, also if another transaction had locked some of it', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list([1, 2, 3]);
  await on.declare();
  const client = new pg.Client({ connectionString: requireDatabaseUrl() });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(
    `BEGIN; SELECT 1 FROM ${store.schema}._deliveries ORDER BY delivery_no LIMIT 2 FOR UPDATE`,
  );
  const forgotten = on.ledger.forget('crm');
  await endedOrWaits(store, forgotten);
  await client.query('COMMIT');
  expect(await forgotten).toBe(3);
  expect(await on.owed('crm')).toEqual(['1 v1 skipped', '2 v1 skipped', '3 v1 skipped']);
});

const rejected = { ...aListedLead({ id: 7 }), kind: 'rejected', reason: 'It is wrong.', path: '' } as const;

it.each([
  ['listed again', (on: LedgerUnderTest) => on.list([1, rejected])],
  [
    'erased',
    (on: LedgerUnderTest) => on.ledger.erase({ leads: [{ source: 'main', leadId: 7n }], rejected: [] }, []),
  ],
])('a rejected lead that is %s while the old ones are removed stays', async (_, change) => {
  const { store, stop } = stopBefore('begin');
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list([1, rejected, { ...rejected, hash: 'the last one' }]);
  on.clock.jump(HOUR);
  await on.list([1]);
  const other = on.again();
  await other.ledger.status();
  // The first transaction finds the old ones, and the second removes them.
  stop.after = 1;
  const removed = on.ledger.removeOld('rejected_leads', on.clock.now(), 0);
  await stop.reached;
  await change(other);
  stop.release();
  await removed;
  expect(await store.query('SELECT lead_id FROM _rejected_leads ORDER BY rejected_id')).toHaveLength(2);
});

async function connected(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: requireDatabaseUrl() });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

it.each([
  [
    'extended',
    (on: LedgerUnderTest, leases: number[]) => {
      on.clock.jump(2 * MINUTE);
      return on.claim('crm', { activeLeases: { leases, leaseMs: MINUTE } });
    },
  ],
  ['ended', (on: LedgerUnderTest) => on.ledger.reclaimLeases(HOLDER)],
  [
    'moved ahead',
    (on: LedgerUnderTest) => {
      on.clock.setBack(-HOUR);
      return on.claim('crm');
    },
  ],
])('leases are %s in the order of their batches', async (_, change) => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list([1, 2]);
  const { refs } = await on.claim('crm', { max: 1, window: 2, beginForMs: MINUTE });
  // The row of the first batch is now the last one of its table.
  await store.query('UPDATE _batches SET lost = lost WHERE batch_no = (SELECT min(batch_no) FROM _batches)');
  const [holder, other] = [await connected(), await connected()];
  const batches = `SELECT 1 FROM ${store.schema}._batches ORDER BY batch_no`;
  await holder.query(`BEGIN; ${batches} DESC LIMIT 1 FOR UPDATE`);
  const changing = change(
    on,
    refs.map(({ lease }) => lease),
  );
  await until('the call waits', () => store.isWaiting());
  await expect(other.query(`${batches} LIMIT 1 FOR UPDATE NOWAIT`)).rejects.toMatchObject({ code: '55P03' });
  await holder.query('COMMIT');
  await changing;
});

it('a retry of a delivery that is claimed and settled meanwhile ends in no deadlock', async () => {
  const codes: string[] = [];
  const hooks = new Map<string, () => Promise<void>>();
  const beforeStatement = (name: string) => {
    const hook = hooks.get(name);
    hooks.delete(name);
    return hook?.();
  };
  const store = new PostgresStore({ beforeStatement, onRetry: (code) => codes.push(code) });
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list([1]);
  const other = on.again();
  const settled: Promise<unknown>[] = [];
  hooks.set('lock-deliveries', async () => {
    const { ref } = await other.take('crm');
    // The retry has locked the delivery, and the settlement has locked its batch.
    const settle = async () => {
      const settling = other.settle(ref, delivered);
      settled.push(settling);
      await endedOrWaits(store, settling);
    };
    hooks.set('lock-batches-of-deliveries', settle);
    hooks.set('retriable', settle);
  });
  const before = await on.ledger.deliveries({}, { limit: 10 });
  await on.ledger.retry({ sink: 'crm', states: ['pending'] });
  await Promise.all(settled);
  expect(before).toHaveLength(1);
  expect(codes).not.toContain('40P01');
  expect(await on.owed('crm')).toEqual(['1 v1 delivered']);
});

it.each(['lock-all-batches', 'move-counts', 'move-count-changes'])(
  'a process that starts, a poll that begins and counts that are added up wait in one order for a clock that is followed, as far as %s',
  async (statement) => {
    const codes: string[] = [];
    const { store, stop } = stopBefore(statement, { onRetry: (code) => codes.push(code) });
    const on = await LedgerUnderTest.with(store.open, 'crm');
    await on.list([1, 2]);
    await on.attemptAll('crm', delivered, { max: 1, window: 1 });
    await on.ledger.checkpointLog();
    await on.attemptAll('crm', delivered, { max: 1, window: 1 });
    const [declaring, polling, counting] = [on.again(), on.again(), on.again()];
    on.clock.setBack(HOUR);
    stop.after = 0;
    const following = on.ledger.clockWentBack(HOUR);
    await stop.reached;
    const calls = [
      declaring.ledger.declareSources([{ name: 'main', config: '{}' }]),
      polling.ledger.startPoll('main'),
      counting.ledger.checkpointLog(),
    ];
    for (const call of calls) await endedOrWaits(store, call);
    stop.release();
    await Promise.all([following, ...calls]);
    expect(codes).toEqual([]);
  },
);
