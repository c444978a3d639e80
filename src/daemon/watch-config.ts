import { statSync } from 'node:fs';
import type { Clock } from '../platform/clock.ts';

const LOOK_MS = 1_000;

/**
 * Calls `onChange` when a file has become another one and has kept still since the look before, until the signal aborts.
 * Looks instead of listening: links that are swapped, files that are mounted and network folders tell nobody.
 */
export async function watchConfig(
  file: string,
  onChange: () => Promise<unknown>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let known = stampOf(file);
  let last = known;
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal);
    const now = stampOf(file);
    if (now !== known && now === last && !signal.aborted) {
      known = now;
      await onChange();
    }
    last = now;
  }
}

/** Differs when the file does, or what its name leads to. */
function stampOf(file: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join();
  } catch {
    return 'missing'; // the reload says so
  }
}
