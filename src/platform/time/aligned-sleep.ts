import type { Clock } from './clock.ts';

/** Fraction of the period. `nextBeat` skips a multiple that is closer than this, because a timer may fire slightly early. */
const OVER = 0.1;

/**
 * Sleeps until the next multiple of `everyMs` on the monotonic clock, or until the signal aborts. Aligns all work that runs every second or
 * two: an idle process then wakes once for all of this work, and sends its ledger thread one message.
 */
export function nextBeat(clock: Clock, everyMs: number, signal?: AbortSignal): Promise<void> {
  const leftMs = everyMs - (clock.monotonicMs() % everyMs);
  return clock.sleep(leftMs < OVER * everyMs ? leftMs + everyMs : leftMs, signal);
}
