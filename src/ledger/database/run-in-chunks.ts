import { setTimeout as sleep } from 'node:timers/promises';

const MIN_PAUSE_MS = 5;

/**
 * Calls `step` until it returns true. After each step, pauses for as long as the step took, so that other processes can take the write
 * lock.
 */
export async function runInChunks(step: () => Promise<boolean>): Promise<void> {
  for (;;) {
    const startMs = performance.now();
    if (await step()) return;
    // Another leadsync process that waits for the lock retries after at most 10 ms.
    await sleep(Math.max(MIN_PAUSE_MS, performance.now() - startMs));
  }
}
