import { setTimeout as sleep } from 'node:timers/promises';

const MIN_PAUSE_MS = 5;

/** Calls `step` until it returns true. Between steps others may take the write lock, for as long as the step took. */
export async function runInChunks(step: () => Promise<boolean>): Promise<void> {
  for (;;) {
    const startMs = performance.now();
    if (await step()) return;
    // Another leadsync that waits for the lock tries again after at most 10 ms.
    await sleep(Math.max(MIN_PAUSE_MS, performance.now() - startMs));
  }
}
