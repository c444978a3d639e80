import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../src/platform/clock.ts';
import { HeldClock } from '../support/held-clock.ts';
import type { Life } from './life.ts';
import { Violation } from './violation.ts';

/** More turns of the event loop than this without the time going on are a spin. */
const MOST_TURNS = 20_000;

/** The simulated time. It goes on only when nothing in this process has anything left to do. */
export function simulatedClock(): HeldClock {
  return new HeldClock('2026-11-20T10:00:00.000Z', comeToRest);
}

/** Exact: everything that does not wait for the clock waits for a turn of the event loop, and those can be counted. */
async function comeToRest(): Promise<void> {
  for (let turns = 0; turns < MOST_TURNS; turns += 1) {
    await turn();
    if (!process.getActiveResourcesInfo().includes('Immediate')) return;
  }
  throw new Violation('it spins: it does not come to rest while the clock stands still');
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
