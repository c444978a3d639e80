import { setTimeout as sleep } from 'node:timers/promises';

const MOMENT_MS = 5;

/** Takes steps until one says that it was the last, and leaves others as much time between them as each has taken. */
export async function inTurns(step: () => Promise<boolean>): Promise<void> {
  for (;;) {
    const startMs = performance.now();
    if (await step()) return;
    // A process that waits for the lock looks for it again after up to 25 ms, and finds it free by then.
    await sleep(Math.max(MOMENT_MS, performance.now() - startMs));
  }
}
