import { setTimeout as sleep } from 'node:timers/promises';
import { Patience } from './patience.ts';

/**
 * Waits for a condition, looking every 10 ms. An error thrown by it counts as "not yet".
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
    await sleep(10);
  }
}
