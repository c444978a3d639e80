import { setTimeout as sleep } from 'node:timers/promises';
import { Patience } from './patience.ts';

/** The limits of the pause between two checks. */
const SHORTEST_MS = 10;
const LONGEST_MS = 1_000;

/**
 * Waits for a condition, checking every 10 ms. After a check that takes longer, because it starts a process or reads what sinks hold,
 * pauses for twice its time, at most one second, so that the checks do not take CPU time from the work awaited. An error thrown by the
 * check counts as "not yet".
 * @returns what the condition returned, once it is truthy
 * @throws Error that names `what` when `patienceMs` are used up, not counting time in which the machine was busy
 */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  patienceMs = 10_000,
): Promise<NonNullable<T>> {
  const patience = new Patience();
  let lastError: unknown;
  while (true) {
    const lookedAt = performance.now();
    try {
      const value = await condition();
      lastError = undefined;
      if (value) return value;
    } catch (error) {
      lastError = error;
    }
    if (patience.spentMs > patienceMs) {
      throw new Error(`waited ${patienceMs} ms in vain until ${what}`, { cause: lastError });
    }
    await sleep(Math.min(Math.max(SHORTEST_MS, 2 * (performance.now() - lookedAt)), LONGEST_MS));
  }
}
