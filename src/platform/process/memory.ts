import { Session } from 'node:inspector/promises';
import { performance } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';

/** The memory of this process, and what says whether now is a good moment to give some of it back. */
export interface Memory {
  /** What of it is resident, of all threads, in bytes. */
  residentBytes(): number;
  /** Which part of the time since the last call this thread has worked: 0 to 1. */
  load(): number;
  /** Collects the garbage of this thread, and gives back what V8 keeps for later. The thread stands still for 50 to 100 ms. */
  collect(): Promise<void>;
}

/** The memory of this process. */
export function processMemory(): Memory {
  let last = performance.eventLoopUtilization();
  return {
    residentBytes: () => process.memoryUsage.rss(),
    load: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
    collect: collectGarbage,
  };
}

/**
 * Collects the garbage of this thread as V8 does when memory is short: it gives back the pages that it keeps for later as well. The
 * inspector is the one way to it that needs no flag (https://chromedevtools.github.io/devtools-protocol/v8/HeapProfiler/).
 */
export async function collectGarbage(): Promise<void> {
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage');
    await turn(); // a session that ends while its answer is handed over never lets go of the thread
  } finally {
    session.disconnect();
  }
}
