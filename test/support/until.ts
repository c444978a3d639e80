import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits for a condition, looking every 10 ms. An error thrown by it counts as "not yet".
 * @returns what the condition gave, once it is truthy
 * @throws Error that names `what` after `timeoutMs`
 */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  timeoutMs = 10_000,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeoutMs;
  let lastError: unknown;
  while (true) {
    try {
      const value = await condition();
      lastError = undefined;
      if (value) return value;
    } catch (error) {
      lastError = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`waited ${timeoutMs} ms in vain until ${what}`, { cause: lastError });
    }
    await sleep(10);
  }
}
