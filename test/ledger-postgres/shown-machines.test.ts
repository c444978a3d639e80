import { expect, it, onTestFinished } from 'vitest';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import type { Machines, OwnLife, ProcessFacts } from '../../src/ledger/contract/machines.ts';
import { DUTY_LEASE_MS, MISSING_MS } from '../../src/ledger/rules/machines/lease-times.ts';
import { openPostgresLedger } from '../../src/ledger-postgres/postgres-ledger.ts';
import { openPostgresPages } from '../../src/ledger-postgres/postgres-pages.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { PostgresStore } from './postgres-store.ts';

/** A beat may take a quarter of a lease, however busy this machine is. */
const LONG_MS = 600_000;

/** A ledger whose time the test moves, what it shows of its processes, and processes on it. */
async function aLedger() {
  const store = new PostgresStore();
  const { ledger } = await LedgerUnderTest.with(store.open);
  const open = async (holder: string): Promise<Machines> => {
    const own = await openPostgresLedger({
      ...store.place(),
      clock: systemClock,
      random: Math.random,
      judge: () => ({ health: HEALTHY, verdicts: [], reviveSince: undefined }),
      create: false,
      holder,
    });
    onTestFinished(() => own.close());
    return own.machines(LONG_MS);
  };
  const shown = async () => {
    const { machines } = await ledger.status();
    if (!machines) throw new Error('a ledger in PostgreSQL shows its processes');
    return machines;
  };
  const pass = (ms: number) => store.query(`UPDATE _test_clock SET ms = ms + ${ms}`);
  const now = async () => Number((await store.query<{ at: number }>('SELECT _now()::float8 AS at'))[0]?.at);
  return { store, ledger, open, shown, pass, now };
}

function beat(machines: Machines, more: Partial<OwnLife> = {}, takes = true) {
  const own = {
    machine: machines.holder,
    role: 'run',
    sinks: ['crm'],
    folders: [],
    wants: ['poll:main'],
    reluctant: [],
  };
  return machines.beat({ ...own, ...more }, ({ duties }) =>
    takes ? duties.filter(({ leftMs }) => leftMs <= 0).map(({ duty }) => duty) : [],
  );
}

const factsAt = (clockMs: number): ProcessFacts => ({
  version: '1.2.3',
  config: '0123456789ab',
  clockMs,
  reload: { request: 'r', result: 'refused', lines: ['no'] },
});

it('shows each process with what it says of itself, its duties, and how far its clock is from that of the server', async () => {
  const { store, open, shown, pass, now } = await aLedger();
  const [one, other] = [await open('a-1'), await open('b-2')];
  await beat(one, { facts: factsAt((await now()) + 90_000) });
  await beat(other, { role: 'worker', wants: [], sinks: [] });
  const startedAt = new Date(await now());
  await pass(2_000);
  await beat(other, { role: 'worker', wants: [], sinks: [] });
  const { processes, free } = await shown();
  expect(processes).toEqual([
    {
      holder: 'a-1',
      machine: 'a-1',
      role: 'run',
      startedAt,
      seenAt: startedAt,
      isMissing: false,
      sinks: ['crm'],
      duties: ['poll:main'],
      facts: {
        version: '1.2.3',
        config: '0123456789ab',
        clockAheadMs: 90_000,
        reload: { request: 'r', result: 'refused', lines: ['no'] },
      },
    },
    expect.objectContaining({ machine: 'b-2', role: 'worker', duties: [], facts: undefined }),
  ]);
  expect(processes[1]?.seenAt.getTime()).toBe(startedAt.getTime() + 2_000);
  expect(free).toEqual([]);
  const pages = await openPostgresPages(store.place());
  onTestFinished(() => pages.close());
  expect((await pages.ask('status')).machines).toEqual({ processes, free });
});

it('shows a duty that no process has, since when, and whether a living process would take it', async () => {
  const { open, shown, pass, now } = await aLedger();
  const [one, other] = [await open('a-1'), await open('b-2')];
  await beat(one);
  await one.leave();
  const since = new Date(await now());
  await pass(30_000);
  expect((await shown()).free).toEqual([{ duty: 'poll:main', since, isWanted: false }]);
  await beat(other, {}, false);
  expect((await shown()).free).toEqual([{ duty: 'poll:main', since, isWanted: true }]);
  await pass(DUTY_LEASE_MS);
  expect((await shown()).free).toEqual([{ duty: 'poll:main', since, isWanted: false }]);
});

it('a process that is not seen for a lease is missing for 10 minutes, whether or not another one has removed it', async () => {
  const { open, shown, pass } = await aLedger();
  const [one, other] = [await open('a-1'), await open('b-2')];
  await beat(one);
  await pass(DUTY_LEASE_MS - 1);
  const isMissing = async () =>
    (await shown()).processes.filter(({ holder }) => holder === 'a-1').map((row) => row.isMissing);
  expect(await isMissing()).toEqual([false]);
  await pass(1);
  expect(await isMissing()).toEqual([true]);
  expect(await other.remove('a-1')).toBe(true);
  expect(await isMissing()).toEqual([true]);
  await pass(MISSING_MS - DUTY_LEASE_MS - 1);
  expect(await isMissing()).toEqual([true]);
  await pass(1);
  expect(await isMissing()).toEqual([]);
});

it('a process that stops in order is not missing, and neither is one that was taken for dead and comes back', async () => {
  const { open, shown } = await aLedger();
  const [one, other] = [await open('a-1'), await open('b-2')];
  await beat(one);
  await one.leave();
  expect((await shown()).processes).toEqual([]);
  await beat(one);
  await other.remove('a-1');
  await beat(one);
  expect((await shown()).processes).toEqual([expect.objectContaining({ holder: 'a-1', isMissing: false })]);
  await one.leave();
  expect((await shown()).processes).toEqual([]);
});

it('a missing process is no longer shown once one of its kind has been started on the same machine', async () => {
  const { open, shown, pass } = await aLedger();
  const [killed, worker, next] = [await open('killed'), await open('worker'), await open('next')];
  const machine = 'a-1';
  await beat(killed, { machine });
  await pass(1_000);
  await worker.remove('killed');
  await beat(worker, { machine, role: 'worker' });
  expect((await shown()).processes.map(({ holder }) => holder)).toEqual(['killed', 'worker']);
  await beat(next, { machine });
  expect((await shown()).processes.map(({ holder }) => holder)).toEqual(['next', 'worker']);
});
