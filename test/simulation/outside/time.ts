import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../../src/platform/time/clock.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { Violation } from '../judging/violation.ts';
import type { Life } from '../life.ts';

/** More turns of the event loop than this without the time going on are a spin. */
const MOST_TURNS = 20_000;

const START = '2026-11-20T10:00:00.000Z';

/**
 * The simulated time. It goes on only when nothing in this process has anything left to do. That is exact: everything that
 * does not wait for the clock waits for a turn of the event loop, and those can be counted.
 */
export function simulatedClock(): HeldClock {
  let turns = 0;
  let sinceMs = -1;
  const comeToRest = async () => {
    if (clock.monotonicMs() !== sinceMs) turns = 0;
    sinceMs = clock.monotonicMs();
    do {
      turns += 1;
      if (turns > MOST_TURNS)
        throw new Violation('it spins: it does not come to rest while the clock stands still');
      await turn();
    } while (process.getActiveResourcesInfo().includes('Immediate'));
  };
  const clock = new HeldClock(START, comeToRest);
  return clock;
}

/** The time as one process sees it: a frozen one wakes when it goes on, a dead one never. */
export function clockOf(life: Life, clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        void clock.sleep(ms, signal).then(() => life.hand(resolve));
      }),
  };
}
