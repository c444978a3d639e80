import { Session } from 'node:inspector/promises';
import { performance } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';

/** Measures and releases the memory of a process. `load` shows whether the process is idle, so that a release delays no work. */
export interface Memory {
  /** Returns the resident memory of the whole process, in bytes. */
  residentBytes(): number;
  /** Returns the utilization of this thread's event loop since the last call, from 0 to 1. */
  load(): number;
  /** Collects the garbage of this thread and releases V8's reserve. Blocks the thread for 50 to 100 ms. */
  collect(): Promise<void>;
}

/** Returns the memory of this process. */
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
 * Collects the garbage of this thread as V8 does when memory is short: this also releases the pages that V8 keeps in reserve. Uses the
 * inspector, which is the only way to do this without a command-line flag
 * (https://chromedevtools.github.io/devtools-protocol/v8/HeapProfiler/).
 */
export async function collectGarbage(): Promise<void> {
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage');
    await turn(); // a session that disconnects while V8 delivers the answer would keep the thread alive
  } finally {
    session.disconnect();
  }
}
