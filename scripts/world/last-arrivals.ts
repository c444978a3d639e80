import { setTimeout as sleep } from 'node:timers/promises';
import { Patience } from '../../test/support/time/patience.ts';
import type { Destinations } from './destinations.ts';
import type { Ask } from './problem-watch.ts';
import type { Services } from './services.ts';
import { type Arrived, arrivedAt } from './summary.ts';

/** Maximum time in which nothing arrives, in ms, not counting that in which the machine is busy. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 1_000;

interface SinkState {
  readonly sink: string;
  readonly state: string;
  readonly retrying: number;
}

/**
 * Waits until every lead is listed and has arrived everywhere, or until nothing has arrived for `PATIENCE_MS`. Resumes held and paused sinks
 * and retries what waits, as an operator would who has fixed the cause. Returns what has arrived.
 */
export async function lastArrivals(
  services: Services,
  destinations: Destinations,
  ask: Ask,
): Promise<readonly Arrived[]> {
  let patience = new Patience();
  let missedBefore = Number.POSITIVE_INFINITY;
  while (true) {
    const arrived = await everywhere(services, destinations);
    const missed = arrived.reduce((sum, { comparison }) => sum + comparison.missing.length, 0);
    if (missed === 0 && services.isAllListed()) return arrived;
    if (missed < missedBefore) patience = new Patience();
    if (patience.spentMs > PATIENCE_MS) return arrived;
    missedBefore = Math.min(missed, missedBefore);
    await hurry(ask).catch(() => {
      // leadsync is too busy to answer, or the state has changed meanwhile. The next round asks again.
    });
    await sleep(PAUSE_MS);
  }
}

/** Returns what has arrived at each destination. */
async function everywhere(services: Services, { all }: Destinations): Promise<readonly Arrived[]> {
  const listed = services.listed();
  return Promise.all(all.map((destination) => arrivedAt(listed, destination)));
}

async function hurry(ask: Ask): Promise<void> {
  const { rows } = (await ask('GET', '/sinks')) as { readonly rows: readonly SinkState[] };
  for (const { sink, state, retrying } of rows) {
    if (state === 'held' || state === 'paused') await ask('POST', `/sinks/${sink}/resume`);
    else if (retrying > 0) await ask('POST', '/deliveries/retry', { sink, state: 'pending' });
  }
}
