import { setTimeout as sleep } from 'node:timers/promises';

const MOMENT_MS = 5;

/** Runs `step` until it returns true, yielding the write lock between steps for as long as each step took. */
export async function inTurns(step: () => Promise<boolean>): Promise<void> {
  for (;;) {
    const startMs = performance.now();
    if (await step()) return;
    // A leadsync that waits for the lock looks again every 10 ms at the latest.
    await sleep(Math.max(MOMENT_MS, performance.now() - startMs));
  }
}
