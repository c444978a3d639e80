import { statSync } from 'node:fs';
import type { Clock } from '../platform/clock.ts';

const LOOK_MS = 1_000;

/**
 * Calls `onChange` when a file is another one than was read last (`readAs`, by whomever) and has kept still since the look before,
 * until the signal aborts. Looks instead of listening: links that are swapped, files that are mounted and network folders tell nobody.
 */
export async function watchConfig(
  file: string,
  readAs: () => string,
  onChange: () => Promise<unknown>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let last = stampOf(file);
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal);
    const now = stampOf(file);
    if (now !== readAs() && now === last && !signal.aborted) await onChange();
    last = now;
  }
}

/** Differs when the file does, or what its name leads to. */
export function stampOf(file: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join();
  } catch {
    return 'missing'; // the reload says so
  }
}
