import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'undici';

const EVERY_MS = 5;

/** How long a process answered nothing. */
export interface Absence {
  /** The longest time between asking /livez and its answer, in ms. */
  readonly longestMs: number;
  readonly asked: number;
}

/**
 * Asks a process for /livez every 5 ms until it is stopped: while its event loop is away, no answer comes. What the
 * asking process was itself away for counts against it, so the figure is never too small.
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
      // Before it listens and after it has closed nobody answers: that is no absence.
    }
    await sleep(EVERY_MS);
  }
  await client.destroy();
  return { longestMs, asked };
}
