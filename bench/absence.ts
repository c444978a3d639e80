import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'undici';

const EVERY_MS = 5;

/** The delays of a process in answering /livez. */
export interface Absence {
  /** The longest time from a request to its answer. */
  readonly longestMs: number;
  /** Answered requests. */
  readonly asked: number;
}

/**
 * Requests /livez of a process every 5 ms until `stop` is called. While its event loop is blocked, it does not answer. Delays of the
 * requesting process count as well, so the figure is never too small.
 */
export function watchAbsence(adminUrl: string): { stop(): Promise<Absence> } {
  let stopped = false;
  const watching = watch(adminUrl, () => stopped);
  return {
    stop: () => {
      stopped = true;
      return watching;
    },
  };
}

async function watch(adminUrl: string, stopped: () => boolean): Promise<Absence> {
  const client = new Client(adminUrl, { pipelining: 1 });
  let [longestMs, asked] = [0, 0];
  while (!stopped()) {
    const startMs = performance.now();
    try {
      const { body } = await client.request({ method: 'GET', path: '/livez' });
      await body.dump();
      asked += 1;
      longestMs = Math.max(longestMs, performance.now() - startMs);
    } catch {
      // The process does not listen yet, or no longer: that does not count.
    }
    await sleep(EVERY_MS);
  }
  await client.destroy();
  return { longestMs, asked };
}
