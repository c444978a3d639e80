import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../../src/platform/time/clock.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { Violation } from '../judging/violation.ts';
import type { Life } from '../life.ts';

/** Maximum turns of the event loop without the time advancing; more are a spin. */
const MOST_TURNS = 20_000;

const START = '2026-11-20T10:00:00.000Z';

/**
 * The simulated time. It advances only when nothing in this process has anything left to do. That is exact: whatever does not wait for the
 * clock waits for a turn of the event loop, and the turns can be counted.
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

/** Returns the clock as one process sees it: a frozen process wakes when it resumes, a dead one never. */
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
