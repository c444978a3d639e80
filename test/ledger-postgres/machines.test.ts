import { expect, it, onTestFinished } from 'vitest';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import type { Found, Machines, Message, SharedLedger } from '../../src/ledger/contract/machines.ts';
import type { PostgresPlace } from '../../src/ledger-postgres/database/postgres-access.ts';
import { openPostgresLedger } from '../../src/ledger-postgres/postgres-ledger.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { until } from '../support/time/until.ts';
import { PostgresStore } from './postgres-store.ts';

/** A beat may take a quarter of a lease, by the clock of this machine, however busy it is. */
const LEASE_MS = 600_000;
const WANTS = ['poll:main', 'upkeep'];
const complete = { status: 'success', bytes: 1, httpStatus: 200, mark: undefined } as const;

/** A process of the ledger that takes every duty that it wants and whose lease has ended. */
class AProcess {
  readonly ledger: SharedLedger;
  readonly machines: Machines;

  constructor(ledger: SharedLedger, leaseMs: number) {
    this.ledger = ledger;
    this.machines = ledger.machines(leaseMs);
  }

  beat(wants: readonly string[] = WANTS) {
    return this.machines.beat(
      { machine: 'here', role: 'run', sinks: ['crm'], folders: ['drop'], wants, reluctant: [] },
      (found) => freeIn(found).filter((duty) => wants.includes(duty)),
    );
  }

  /** Sends a beat, and returns the duties that it holds then. */
  async held(wants?: readonly string[]): Promise<readonly string[]> {
    return (await this.beat(wants)).held.map(({ duty }) => duty).sort();
  }

  async token(duty: string): Promise<string> {
    const { held } = await this.beat();
    return held.find((one) => one.duty === duty)?.token ?? 'not held';
  }
}

function freeIn({ duties }: Found): string[] {
  return duties.filter(({ holder, leftMs }) => holder === undefined || leftMs <= 0).map(({ duty }) => duty);
}

/** A ledger whose time the test moves, and processes on it. */
async function aLedger() {
  const store = new PostgresStore();
  await LedgerUnderTest.with(store.open);
  const open = async (holder: string, place: Partial<PostgresPlace> = {}, leaseMs = LEASE_MS) => {
    const ledger = await openPostgresLedger({
      ...store.place(),
      ...place,
      clock: systemClock,
      random: Math.random,
      judge: () => ({ health: HEALTHY, verdicts: [], reviveSince: undefined }),
      create: false,
      holder,
    });
    onTestFinished(() => ledger.close());
    return new AProcess(ledger, leaseMs);
  };
  const pass = (ms: number) => store.query(`UPDATE _test_clock SET ms = ms + ${ms}`);
  return { store, open, pass };
}

/** Stops the first transaction of a process that reaches a statement. */
function stopBefore(statement: string) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isArmed = false;
  const beforeStatement = (name: string) => {
    if (!isArmed || name !== statement) return undefined;
    isArmed = false;
    reached.resolve();
    return released.promise;
  };
  const arm = () => {
    isArmed = true;
  };
  return { beforeStatement, arm, reached: reached.promise, release: released.resolve };
}

it('a duty stays with the process that took it until its lease ends', async () => {
  const { open, pass } = await aLedger();
  const [one, other] = [await open('one'), await open('other')];
  expect(await one.held()).toEqual(WANTS);
  expect(await other.held()).toEqual([]);
  await pass(LEASE_MS - 1);
  expect(await other.held()).toEqual([]);
  expect(await one.held()).toEqual(WANTS);
  await pass(LEASE_MS - 1);
  expect(await other.held()).toEqual([]);
  await pass(1);
  expect(await other.held()).toEqual(WANTS);
  expect(await one.held()).toEqual([]);
});

it('a duty gets a new token each time a process takes it, and keeps it while it is renewed', async () => {
  const { open } = await aLedger();
  const one = await open('one');
  const token = await one.token('poll:main');
  expect(token).toMatch(/^[0-9a-f-]{36}$/);
  expect(await one.token('poll:main')).toBe(token);
  await one.machines.leave();
  const other = await open('other');
  expect(await other.token('poll:main')).not.toBe(token);
});

it('every process sees the processes, the duties, and what each process wants', async () => {
  const { open, pass } = await aLedger();
  const [one, other] = [await open('one'), await open('other')];
  await one.beat(['upkeep']);
  await pass(3_000);
  const { processes, duties } = await other.beat(['poll:main']);
  expect(processes).toContainEqual({
    holder: 'one',
    machine: 'here',
    role: 'run',
    sinks: ['crm'],
    folders: ['drop'],
    wants: ['upkeep'],
    reluctant: [],
    seenMsAgo: 3_000,
    lastBeat: expect.any(String),
  });
  expect(duties).toContainEqual({
    duty: 'upkeep',
    holder: 'one',
    token: expect.any(String),
    renewals: 0,
    heldForMs: 3_000,
    leftMs: LEASE_MS - 3_000,
  });
});

it('a process gives up the duties that it no longer wants, and all duties when it leaves', async () => {
  const { open } = await aLedger();
  const [one, other] = [await open('one'), await open('other')];
  await one.beat();
  expect(await one.held(['upkeep'])).toEqual(['upkeep']);
  expect(await other.held()).toEqual(['poll:main']);
  await one.machines.leave();
  expect((await other.beat()).processes.map(({ holder }) => holder)).toEqual(['other']);
  expect(await other.held()).toEqual(WANTS);
});

it.each(['take-duties', 'commit'])(
  'of two processes that take a duty, one gets it, if the first stops before %s',
  async (statement) => {
    const { open, store } = await aLedger();
    const stop = stopBefore(statement);
    const first = await open('first', { beforeStatement: stop.beforeStatement });
    const second = await open('second');
    // Adds the duties.
    await second.held();
    await second.machines.leave();
    stop.arm();
    const beat = first.held();
    await stop.reached;
    const held = await second.held();
    expect(await store.isWaiting()).toBe(false);
    stop.release();
    expect([...(await beat), ...held].sort()).toEqual(WANTS);
  },
);

it('a lease that its holder renews while another process is about to take the duty stays with the holder', async () => {
  const { open, pass } = await aLedger();
  const stop = stopBefore('take-duties');
  const [one, late] = [await open('one'), await open('late', { beforeStatement: stop.beforeStatement })];
  await one.beat();
  await pass(LEASE_MS);
  stop.arm();
  const beat = late.held();
  await stop.reached;
  expect(await one.held()).toEqual(WANTS);
  stop.release();
  expect(await beat).toEqual([]);
});

it('a beat that stands still is given up after a beat, and the next one shows what the ledger has', async () => {
  const { open } = await aLedger();
  const stop = stopBefore('commit');
  const leaseMs = 4_000;
  const [one, other] = [await open('one', stop, leaseMs), await open('other')];
  stop.arm();
  const stuck = one.held();
  await Promise.race([stop.reached, stuck.catch(() => undefined)]);
  await expect(stuck).rejects.toMatchObject({ name: 'LedgerError', isTransient: true });
  stop.release();
  expect(await other.held()).toEqual(WANTS);
  expect(await until('a beat is answered', () => one.held())).toEqual([]);
});

it('beats notify no process of a write, because each process sends its own', async () => {
  const { open } = await aLedger();
  const [one, other] = [await open('one'), await open('other')];
  await other.ledger.changedElsewhere();
  await one.beat();
  expect(await other.ledger.changedElsewhere()).toBe(false);
});

it('a duty that is given up, and what a process tells, reach the other processes at once and not itself', async () => {
  const { open } = await aLedger();
  const [one, other] = [await open('one'), await open('other')];
  const [own, heard]: Message[][] = [[], []];
  one.machines.onMessage((message) => void own?.push(message));
  other.machines.onMessage((message) => void heard?.push(message));
  await one.beat();
  await one.machines.tell({ kind: 'poll', source: 'main' });
  await one.beat(['upkeep']);
  await one.machines.leave();
  const givenUp = { kind: 'given-up' };
  await until('they are heard', () => heard?.length === 3);
  expect(heard).toEqual([{ kind: 'poll', source: 'main' }, givenUp, givenUp]);
  expect(own).toEqual([]);
});

it('a dead process is removed with its duties, unless it has shown since that it is alive', async () => {
  const { open, pass } = await aLedger();
  const [one, other] = [await open('one'), await open('other')];
  await one.beat();
  const seen = async () =>
    (await other.beat([])).processes.find(({ holder }) => holder === 'one')?.lastBeat ?? 'unknown';
  const lastBeat = await seen();
  await pass(1_000);
  await one.beat();
  expect(await other.machines.remove('one', lastBeat)).toBe(false);
  expect(await one.held()).toEqual(WANTS);
  expect(await other.machines.remove('one', await seen())).toBe(true);
  expect(await seen()).toBe('unknown');
  expect(await other.held()).toEqual(WANTS);
});

it('a process that was dead for a day is forgotten', async () => {
  const { open, pass } = await aLedger();
  const [one, other] = [await open('one'), await open('other')];
  await one.beat();
  await pass(25 * 3_600_000);
  await other.beat();
  expect((await other.beat()).processes.map(({ holder }) => holder)).toEqual(['other']);
});

it('a process that has lost the duty of a source begins no poll, and what it polls records nothing once another one polls', async () => {
  const { open, pass } = await aLedger();
  const fenced = { code: 'fenced' };
  const [one, other] = [await open('one'), await open('other')];
  const [token] = [await one.token('poll:main')];
  const poll = await one.ledger.startPoll('main', token);
  await one.ledger.record(poll, [aListedLead({ id: 1 })]);
  await pass(LEASE_MS);
  const next = await other.token('poll:main');
  // Until the other process polls, what was listed is welcome.
  expect(await one.ledger.record(poll, [aListedLead({ id: 2 })])).toMatchObject({ new: 1 });
  const polling = await other.ledger.startPoll('main', next);
  await expect(one.ledger.record(poll, [aListedLead({ id: 3 })])).rejects.toMatchObject(fenced);
  await expect(one.ledger.finishPoll(poll, complete)).rejects.toMatchObject(fenced);
  await expect(one.ledger.startPoll('main', token)).rejects.toMatchObject(fenced);
  for (const id of [1, 2]) await other.ledger.record(polling, [aListedLead({ id })]);
  expect(await other.ledger.finishPoll(polling, complete)).toMatchObject({ listed: 2, new: 0 });
  await other.machines.leave();
  await expect(other.ledger.startPoll('main', next)).rejects.toMatchObject(fenced);
});
