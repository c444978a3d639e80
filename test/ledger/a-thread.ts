import { judgeBy } from '../../src/delivery/judge.ts';
import { openEngine } from '../../src/ledger/sqlite-ledger.ts';
import { serveThread } from '../../src/ledger/thread/serve-engine.ts';
import { systemClock } from '../../src/platform/time/clock.ts';

/** The input of a test's thread. */
export interface TestThread {
  readonly file: string;
  readonly create: boolean;
  /** What happens on a request for `status`, in place of an answer. */
  readonly status?: 'it-dies' | 'nothing' | 'it-stands-still';
}

/** How long the thread blocks, in ms. */
export const STANDS_STILL_MS = 400;

// Runs a ledger in a thread, and fails in the way that the test chooses.
serveThread<TestThread, never>(({ file, create, status }) => {
  const judge = judgeBy(() => ({ scheduleMs: [], jitter: 0 }), Math.random);
  const engine = openEngine({ file, create, clock: systemClock, random: Math.random, judge });
  if (status === undefined) return engine;
  return {
    ...engine,
    status: () => {
      if (status === 'it-dies')
        setImmediate(() => {
          throw new Error('The thread dies.');
        });
      if (status === 'it-stands-still')
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STANDS_STILL_MS);
      return status === 'it-stands-still' ? engine.status() : new Promise<never>(() => undefined);
    },
  };
});
