import { describe, expect, it } from 'vitest';
import { type Duties, everyDuty } from '../../../src/daemon/duties/duties.ts';
import { Loops } from '../../../src/daemon/joints/restarting-loops.ts';
import { HeldClock, rest } from '../../support/time/held-clock.ts';
import { GivenDuties } from '../duties/given-duties.ts';

/** A loop that the test ends, and what came of each of its runs. */
class ScriptedLoop {
  readonly signals: AbortSignal[] = [];
  #end: PromiseWithResolvers<void> = Promise.withResolvers();
  /** What a run does when its signal aborts: ends, unless the test says otherwise. */
  onAbort = () => this.end();

  readonly run = (signal: AbortSignal): Promise<void> => {
    this.signals.push(signal);
    this.#end = Promise.withResolvers();
    if (signal.aborted) this.onAbort();
    signal.addEventListener('abort', () => this.onAbort());
    return this.#end.promise;
  };

  end(): void {
    this.#end.resolve();
  }

  fail(): void {
    this.#end.reject(new Error('It failed.'));
  }

  get runs(): number {
    return this.signals.length;
  }
}

function aLoop(duties: Duties) {
  const clock = new HeldClock();
  const faults: string[] = [];
  const logger = { fault: (doing: string) => void faults.push(doing) };
  const loops = new Loops({ clock, duties, telemetry: { emit: () => undefined, logger: logger as never } });
  const loop = new ScriptedLoop();
  let hasEnded = false;
  void loops.startWhileHeld('upkeep', 'tidying', loop.run).then(() => {
    hasEnded = true;
  });
  return { clock, faults, loops, loop, hasEnded: () => hasEnded };
}

describe('a loop with a duty', () => {
  it('runs only while the duty is held, and again when it is taken again', async () => {
    const duties = new GivenDuties();
    const { loop, loops, hasEnded } = aLoop(duties);
    await rest();
    expect(loop.runs).toBe(0);
    for (const run of [1, 2, 3]) {
      duties.give('upkeep');
      await rest();
      expect([loop.runs, loop.signals.at(-1)?.aborted]).toEqual([run, false]);
      duties.lose('upkeep');
      await rest();
      expect([loop.runs, loop.signals.at(-1)?.aborted, hasEnded()]).toEqual([run, true, false]);
    }
    loops.stop();
    await loops.ended();
    expect(loop.runs).toBe(3);
  });

  it('has ended before it runs again, also when the duty is taken again immediately', async () => {
    const duties = new GivenDuties('upkeep');
    const { loop } = aLoop(duties);
    await rest();
    loop.onAbort = () => undefined;
    duties.lose('upkeep');
    duties.give('upkeep');
    await rest();
    expect(loop.runs).toBe(1);
    loop.end();
    await rest();
    expect([loop.runs, loop.signals.at(-1)?.aborted]).toEqual([2, false]);
  });

  it('restarts after a fault while the duty is held, and ignores an error after its loss', async () => {
    const duties = new GivenDuties('upkeep');
    const { loop, clock, faults } = aLoop(duties);
    await rest();
    loop.fail();
    await clock.pass(1_000);
    expect([loop.runs, faults]).toEqual([2, ['tidying']]);
    loop.onAbort = () => loop.fail();
    duties.lose('upkeep');
    await clock.pass(1_000);
    expect([loop.runs, faults]).toEqual([2, ['tidying']]);
  });

  it('waits for its duty when that is lost during the pause after a fault', async () => {
    const duties = new GivenDuties('upkeep');
    const { loop, clock } = aLoop(duties);
    await rest();
    loop.fail();
    await rest();
    duties.lose('upkeep');
    await clock.pass(10_000);
    expect([duties.waiting('upkeep'), loop.signals.filter(({ aborted }) => !aborted)]).toEqual([1, []]);
  });

  it('that returns is not run again', async () => {
    const duties = new GivenDuties('upkeep');
    const { loop, hasEnded } = aLoop(duties);
    await rest();
    loop.end();
    await rest();
    duties.lose('upkeep');
    duties.give('upkeep');
    await rest();
    expect([hasEnded(), loop.runs]).toEqual([true, 1]);
  });

  it.each(['stop', 'retire'] as const)('ends on %s while it waits for its duty', async (end) => {
    const duties = new GivenDuties();
    const { loop, loops } = aLoop(duties);
    loops[end]();
    await loops.ended();
    duties.give('upkeep');
    await rest();
    expect(loop.runs).toBe(0);
  });

  it('is not aborted by retire, and is not run again after it', async () => {
    const duties = new GivenDuties('upkeep');
    const { loop, loops } = aLoop(duties);
    await rest();
    loops.retire();
    expect([loop.signals[0]?.aborted, loops.retiring.aborted]).toEqual([false, true]);
    duties.lose('upkeep');
    duties.give('upkeep');
    await loops.ended();
    expect(loop.runs).toBe(1);
  });

  it('ends when its duty is lost while leadsync stops', async () => {
    const duties = new GivenDuties('upkeep');
    const { loop, loops, faults } = aLoop(duties);
    await rest();
    loop.onAbort = () => undefined;
    loops.stop();
    duties.lose('upkeep');
    duties.give('upkeep');
    loop.fail();
    await loops.ended();
    expect([loop.runs, faults]).toEqual([1, []]);
  });
});

it.each(['stop', 'retire'] as const)(
  'a loop that is started before %s, in the same turn, does not run',
  async (end) => {
    for (const duties of [everyDuty, new GivenDuties('upkeep')]) {
      const { loop, loops } = aLoop(duties);
      loops[end]();
      await rest();
      expect(loop.runs).toBe(0);
    }
  },
);

it('the process that holds the data directory holds every duty until it stops', async () => {
  const { loop, loops } = aLoop(everyDuty);
  await rest();
  expect([loop.runs, loop.signals[0]?.aborted]).toEqual([1, false]);
  loops.stop();
  await loops.ended();
  expect([loop.runs, loop.signals[0]?.aborted]).toEqual([1, true]);
});
