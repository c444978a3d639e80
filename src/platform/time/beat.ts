import type { Clock } from './clock.ts';

/** A beat that is nearer than this part of its period is over already: a timer may fire a little early. */
const OVER = 0.1;

/**
 * Sleeps until the next multiple of `everyMs` on the clock that only grows, or until the signal aborts. What looks at something every
 * second or two sleeps by it: an idle process then wakes once for all of them, and asks its ledger's thread once.
 */
export function nextBeat(clock: Clock, everyMs: number, signal?: AbortSignal): Promise<void> {
  const leftMs = everyMs - (clock.monotonicMs() % everyMs);
  return clock.sleep(leftMs < OVER * everyMs ? leftMs + everyMs : leftMs, signal);
}
