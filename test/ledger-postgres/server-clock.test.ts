import { expect, it, onTestFinished } from 'vitest';
import { watchClock } from '../../src/daemon/watching/watch-clock.ts';
import type { Clock } from '../../src/platform/time/clock.ts';
import { HOUR, ids, LedgerUnderTest, MINUTE, unavailable } from '../ledger/ledger-under-test.ts';
import { HeldClock, rest } from '../support/time/held-clock.ts';
import { endedOrWaits, PostgresStore, postgresStore } from './postgres-store.ts';

/** Returns when each delivery is due next, relative to a time, in ms. */
async function dues({ ledger }: LedgerUnderTest, since: number): Promise<number[]> {
  const rows = await ledger.deliveries({}, { limit: 10_000 });
  return rows.map(({ nextAttemptAt }) => (nextAttemptAt?.getTime() ?? Number.NaN) - since);
}

/** Opens a ledger in which one delivery waits for hours. */
async function withWaiting(store: PostgresStore) {
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list([1]);
  await store.query('UPDATE _deliveries SET next_attempt_at = next_attempt_at + 36000000');
  return on;
}

it('a machine whose clock is behind that of the server moves nothing, and says nothing', async () => {
  const on = await LedgerUnderTest.with(postgresStore(-5 * MINUTE), 'crm');
  await on.list([1]);
  const { ref } = await on.take('crm', { window: 1 });
  const machine: Clock = {
    now: () => on.clock.in(-5 * MINUTE),
    monotonicMs: () => on.clock.monotonicMs(),
    sleep: (ms, signal) => on.clock.sleep(ms, signal),
  };
  const [events, stop] = [[] as unknown[], new AbortController()];
  onTestFinished(() => stop.abort());
  const watching = watchClock(on.ledger, machine, (event) => events.push(event), stop.signal);
  while (on.clock.sleeping === 0) await rest();
  stop.abort();
  await watching;
  expect(events).toEqual([]);
  expect((await on.claim('crm', { window: 1 })).refs).toEqual([]);
  expect(await on.settle(ref, unavailable)).toBeDefined();
});

it('a clock that was set back is followed once, whichever processes notice and when', async () => {
  const store = new PostgresStore();
  const on = await withWaiting(store);
  const others = [on.again(), on.again()];
  for (const other of others) await other.claim('crm');
  const dueAt = on.clock.now().getTime() + 10 * HOUR;
  on.clock.setBack(HOUR);
  await Promise.all([on, ...others].map((one) => one.claim('crm')));
  await on.again().claim('crm');
  for (const other of others) await other.ledger.clockWentBack(HOUR);
  expect(await dues(on, dueAt)).toEqual([-HOUR]);
  on.clock.setBack(HOUR);
  for (const other of others) await other.list([1]);
  await on.ledger.checkpointLog();
  expect(await dues(on, dueAt)).toEqual([-2 * HOUR]);
});

it('a process that starts later follows a clock that was set back since the last poll', async () => {
  const store = new PostgresStore();
  const on = await withWaiting(store);
  const dueAt = on.clock.now().getTime() + 10 * HOUR;
  on.clock.setBack(HOUR);
  await on.again().claim('crm');
  expect(await dues(on, dueAt)).toEqual([-HOUR]);
  await on.ledger.checkpointLog();
  expect(await dues(on, dueAt)).toEqual([-HOUR]);
});

it('the other processes hear that times were moved', async () => {
  const on = await LedgerUnderTest.with(postgresStore(), 'crm');
  await on.list([1]);
  const other = on.again();
  await other.claim('crm', { most: 0 });
  on.clock.setBack(HOUR);
  await other.ledger.checkpointLog();
  await other.ledger.close();
  expect(await on.ledger.changedElsewhere()).toBe(true);
});

it('a clock that was set ahead moves leases once, whichever processes notice', async () => {
  const on = await LedgerUnderTest.with(postgresStore(), 'crm');
  await on.list([1]);
  const other = on.again();
  await other.claim('crm', { most: 0 });
  const { ref } = await on.take('crm', { window: 1 });
  on.clock.setBack(-HOUR);
  for (const one of [on, other, on]) expect((await one.claim('crm', { window: 1 })).refs).toEqual([]);
  on.clock.jump(MINUTE);
  expect((await other.claim('crm', { window: 1 })).refs).toMatchObject([{ batch: ref.batch }]);
});

it.each(['set-clock', 'look-at-sink'])(
  'it moves them also if the transaction fails once before %s',
  async (statement) => {
    let isArmed = false;
    const beforeStatement = (name: string) => {
      if (!isArmed || name !== statement) return undefined;
      isArmed = false;
      throw Object.assign(new Error('a deadlock'), { severity: 'ERROR', code: '40P01' });
    };
    const on = await LedgerUnderTest.with(new PostgresStore({ beforeStatement }).open, 'crm');
    await on.list([1]);
    await on.take('crm', { window: 1 });
    on.clock.setBack(-HOUR);
    isArmed = true;
    expect((await on.claim('crm', { window: 1 })).refs).toEqual([]);
    expect(isArmed).toBe(false);
    expect(await on.ledger.repeatedTransactions?.()).toBe(1);
  },
);

it('a machine that was suspended moves no leases, because others have worked meanwhile', async () => {
  const store = new PostgresStore();
  const [awake, suspended] = [new HeldClock(), new HeldClock()];
  const on = new LedgerUnderTest(store.open, awake);
  const other = new LedgerUnderTest(store.open, suspended);
  await on.declare('crm');
  await other.claim('crm');
  awake.jump(HOUR);
  suspended.setBack(-HOUR);
  await on.list([1]);
  const { ref } = await on.take('crm', { window: 1 });
  expect((await other.claim('crm', { window: 1 })).refs).toEqual([]);
  awake.jump(MINUTE);
  expect((await on.claim('crm', { window: 1 })).refs).toMatchObject([{ batch: ref.batch }]);
});

it('a step back of the clock after a machine was suspended moves times by that step alone', async () => {
  const store = new PostgresStore();
  const [awake, suspended] = [new HeldClock(), new HeldClock()];
  const on = new LedgerUnderTest(store.open, awake);
  const other = new LedgerUnderTest(store.open, suspended);
  await on.declare('crm');
  await on.list([1]);
  await store.query('UPDATE _deliveries SET next_attempt_at = next_attempt_at + 36000000');
  await other.claim('crm');
  awake.jump(HOUR);
  suspended.setBack(-HOUR);
  await on.claim('crm');
  // Nothing was recorded meanwhile, so that the clock may have been set ahead.
  await other.claim('crm');
  const [dueAt] = await dues(on, 0);
  awake.setBack(10_000);
  suspended.setBack(10_000);
  await on.claim('crm');
  expect(await dues(on, dueAt ?? 0)).toEqual([-10_000]);
});

it('a server that was suspended has not been set back', async () => {
  const on = await withWaiting(new PostgresStore());
  await on.claim('crm');
  const dueAt = on.clock.now().getTime() + 10 * HOUR;
  on.clock.jump(2 * MINUTE);
  on.clock.setBack(MINUTE);
  await on.claim('crm');
  expect(await dues(on, dueAt)).toEqual([0]);
});

it('a machine that was suspended moves no leases if another one has recorded a time meanwhile', async () => {
  const store = new PostgresStore();
  const [awake, suspended] = [new HeldClock(), new HeldClock()];
  const on = new LedgerUnderTest(store.open, awake);
  const other = new LedgerUnderTest(store.open, suspended);
  await on.declare('crm');
  await other.claim('crm');
  awake.jump(HOUR / 2);
  await on.list([1]);
  awake.jump(HOUR / 2);
  suspended.setBack(-HOUR);
  const { ref } = await on.take('crm', { window: 1 });
  await other.claim('crm', { window: 1 });
  awake.jump(MINUTE);
  expect((await on.claim('crm', { window: 1 })).refs).toMatchObject([{ batch: ref.batch }]);
});

it('what a process has left to be moved is moved by another one, and nothing twice', async () => {
  let steps = 0;
  const beforeStatement = (name: string) => {
    if (name !== 'next-step') return undefined;
    steps += 1;
    if (steps === 2) throw new Error('the process is killed');
  };
  const store = new PostgresStore({ beforeStatement });
  const on = await LedgerUnderTest.with(store.open, 'crm', 'drop');
  await on.list(ids(1, 1_500));
  await store.query('UPDATE _deliveries SET next_attempt_at = next_attempt_at + 36000000');
  const dueAt = on.clock.now().getTime() + 10 * HOUR;
  on.clock.setBack(HOUR);
  await expect(on.ledger.clockWentBack(HOUR)).rejects.toThrow();
  expect(new Set(await dues(on, dueAt))).toEqual(new Set([0, -HOUR]));
  const other = on.again();
  await other.ledger.checkpointLog();
  expect(new Set(await dues(on, dueAt))).toEqual(new Set([-HOUR]));
});

it.each(['clock', 'record-clock'])(
  'a step that another process follows before a poll reaches %s is followed once',
  async (statement) => {
    let step: (() => Promise<unknown>) | undefined;
    let following: Promise<unknown> | undefined;
    const beforeStatement = async (name: string) => {
      if (name !== statement || !step) return;
      following = step();
      step = undefined;
      await endedOrWaits(store, following);
    };
    const store = new PostgresStore({ beforeStatement });
    const on = await withWaiting(store);
    const other = on.again();
    for (const one of [on, other]) await one.claim('crm');
    const dueAt = on.clock.now().getTime() + 10 * HOUR;
    step = () => {
      on.clock.setBack(HOUR);
      return other.ledger.clockWentBack(HOUR);
    };
    await on.list([1]);
    await following;
    for (const one of [on, on.again()]) await one.claim('crm');
    expect(await dues(on, dueAt)).toEqual([-HOUR]);
  },
);
