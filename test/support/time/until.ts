import { setTimeout as sleep } from 'node:timers/promises';
import { Patience } from './patience.ts';

/** The pauses between two looks. */
const SHORTEST_MS = 10;
const LONGEST_MS = 1_000;

/**
 * Waits for a condition, looking every 10 ms. A look that takes longer, because it starts a process or reads what sinks hold, is
 * followed by a pause of twice that time, a second at most: what is waited for needs the CPU more than the look does. An error thrown by it counts as "not yet".
 * @returns what the condition gave, once it is truthy
 * @throws Error that names `what` when `patienceMs` are used up: time in which the machine was busy does not count
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
