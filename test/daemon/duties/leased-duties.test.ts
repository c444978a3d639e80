import { expect, it, onTestFinished } from 'vitest';
import { LeasedDuties } from '../../../src/daemon/duties/leased-duties.ts';
import type { DutyWork, HeldDuty, Machines, Message } from '../../../src/ledger/contract/machines.ts';
import { DutyTable } from '../../simulation/machines/duty-table.ts';
import { HeldClock } from '../../support/time/held-clock.ts';

const LEASE_MS = 10_000;
const BEAT_MS = LEASE_MS / 4;
const MINUTE = 60_000;

/** Processes with duties in one table, which answers immediately. */
function aScene() {
  const clock = new HeldClock();
  const table = new DutyTable(clock, LEASE_MS);
  const hearers: ((message: Message) => void)[] = [];
  const start = (holder: string, beat?: Machines['beat']) => {
    const stopping = new AbortController();
    const failures: unknown[] = [];
    const duties = new LeasedDuties({
      machines: {
        holder,
        beat: beat ?? (async (own, choose) => table.beat(holder, own, choose)),
        leave: async () => table.leave(holder),
        remove: async (other, lastBeat) => table.remove(other, lastBeat),
        tell: async (message) => {
          for (const hear of hearers) hear(message);
        },
        onMessage: (hear) => void hearers.push(hear),
      },
      clock,
      own: () => ({ machine: holder, role: 'run', sinks: [], folders: [] }),
      leaseMs: LEASE_MS,
      onFailure: (error) => failures.push(error),
    });
    const ended = duties.run(stopping.signal);
    const stop = () => stopping.abort();
    onTestFinished(stop);
    const hold = (work: DutyWork) => duties.whileHeld('upkeep', work, stopping.signal);
    const tell = (message: Message) => {
      for (const hear of hearers) hear(message);
    };
    return { hold, stop, ended, failures, duties, tell };
  };
  return { clock, table, start };
}

/** What a process says of itself. */
const life = (machine: string) => ({ machine, role: 'run', sinks: [], folders: [], reluctant: [] });

/** Work that lasts until its duty is lost, or until it is asked to retire. */
function aWork() {
  const runs: { held: HeldDuty; signal: AbortSignal }[] = [];
  const work: DutyWork = (held, signal) => {
    runs.push({ held, signal });
    return new Promise((resolve) => {
      for (const end of [signal, held.retiring])
        end.addEventListener('abort', () => resolve(), { once: true });
    });
  };
  return { runs, work };
}

it('work begins when the duty is held, and its signal aborts when no beat is answered for long enough', async () => {
  const { clock, table, start } = aScene();
  let isAnswered = true;
  const { hold } = start('one', async (own, choose) =>
    isAnswered ? table.beat('one', own, choose) : new Promise(() => undefined),
  );
  const { runs, work } = aWork();
  void hold(work);
  await clock.pass(BEAT_MS);
  expect(runs).toHaveLength(1);
  const [run] = runs;
  await clock.pass(MINUTE);
  expect(run?.held.isTrusted()).toBe(true);
  isAnswered = false;
  await clock.pass(0.7 * LEASE_MS + 10);
  expect(run?.held.isTrusted()).toBe(false);
  expect(run?.signal.aborted).toBe(true);
  isAnswered = true;
  await clock.pass(2 * BEAT_MS);
  expect(runs).toHaveLength(2);
  expect(runs[1]?.held.isTrusted()).toBe(true);
});

it('a beat that fails is reported, and the next one is sent', async () => {
  const { clock, table, start } = aScene();
  let fails = 1;
  const { hold, failures } = start('one', async (own, choose) => {
    fails -= 1;
    if (fails >= 0) throw new Error('the server is away');
    return table.beat('one', own, choose);
  });
  const { runs, work } = aWork();
  void hold(work);
  await clock.pass(BEAT_MS);
  expect(failures).toHaveLength(1);
  expect(runs).toHaveLength(1);
});

it('work that returns by itself is done, and its duty is given up once no other work needs it', async () => {
  const { clock, table, start } = aScene();
  const { hold } = start('one');
  const { runs, work } = aWork();
  void hold(work);
  await hold(async () => undefined);
  await clock.pass(BEAT_MS);
  expect(table.holderOf('upkeep')).toBe('one');
  expect(runs).toHaveLength(1);
});

it('work that throws while its duty is held passes its error on, and work that throws after the loss does not', async () => {
  const { clock, table, start } = aScene();
  const { hold } = start('one');
  await expect(
    hold(async () => {
      throw new Error('a fault');
    }),
  ).rejects.toThrow('a fault');
  const runs: AbortSignal[] = [];
  const other = hold(async (_, signal) => {
    runs.push(signal);
    await clock.sleep(24 * 60 * MINUTE, signal);
    if (signal.aborted) throw new Error('cut off');
  });
  await clock.pass(BEAT_MS);
  table.leave('one');
  await clock.pass(2 * BEAT_MS);
  expect(runs.map(({ aborted }) => aborted)).toEqual([true, false]);
  void other;
});

it('a process that stops gives its duties up after its work has ended', async () => {
  const { clock, table, start } = aScene();
  const one = start('one');
  const working = Promise.withResolvers<void>();
  const done = one.hold(() => working.promise);
  await clock.pass(BEAT_MS);
  one.stop();
  await clock.pass(BEAT_MS);
  expect(table.holderOf('upkeep')).toBe('one');
  working.resolve();
  await done;
  await one.ended;
  expect(table.holderOf('upkeep')).toBeUndefined();
});

it('a duty that is given up is taken as soon as this is told, and not with the next beat', async () => {
  const { clock, table, start } = aScene();
  const { hold, tell } = start('other');
  table.beat('one', { ...life('one'), wants: ['upkeep'] }, () => ['upkeep']);
  const { runs, work } = aWork();
  void hold(work);
  await clock.pass(10);
  expect(runs).toHaveLength(0);
  table.leave('one');
  tell({ kind: 'given-up' });
  await clock.pass(1);
  expect(runs).toHaveLength(1);
});

it('a beat that is asked for is sent after it was asked for, also while another one is on its way', async () => {
  const { clock, table, start } = aScene();
  const answers: (() => void)[] = [];
  const { duties } = start('one', async (own, choose) => {
    await new Promise<void>((resolve) => answers.push(resolve));
    return table.beat('one', own, choose);
  });
  await clock.pass(1);
  let hasEnded = false;
  void duties.beatNow().then(() => {
    hasEnded = true;
  });
  answers[0]?.();
  await clock.pass(1);
  expect([answers.length, hasEnded]).toEqual([2, false]);
  answers[1]?.();
  await clock.pass(1);
  expect(hasEnded).toBe(true);
});

it('a duty that works badly in a process goes to another one within two beats, and comes back after five minutes at the earliest', async () => {
  const { clock, table, start } = aScene();
  const [one, other] = [aWork(), aWork()];
  void start('one').hold(one.work);
  await clock.pass(BEAT_MS);
  void start('other').hold(other.work);
  await clock.pass(11 * MINUTE);
  const [first, second] = table.holderOf('upkeep') === 'one' ? [one, other] : [other, one];
  first.runs.at(-1)?.held.preferOthers();
  await clock.pass(3 * BEAT_MS);
  expect(second.runs.at(-1)?.held.isTrusted()).toBe(true);
  const runs = first.runs.length;
  await clock.pass(4 * MINUTE);
  expect(first.runs).toHaveLength(runs);
});
