import { statSync } from 'node:fs';
import { nextBeat } from '../../platform/time/beat.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { ConfigFiles } from '../units/reloader.ts';

const CHECK_INTERVAL_MS = 1_000;

/**
 * Calls `onChange` when the files are others than were read last (`loadedStamp`, by whomever) and have kept still since the look before,
 * until the signal aborts. Looks instead of listening: links that are swapped, files that are mounted and network folders tell nobody.
 */
export async function watchConfig(
  stamp: () => string,
  loadedStamp: () => string,
  onChange: () => Promise<unknown>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let last = stamp();
  while (!signal.aborted) {
    await nextBeat(clock, CHECK_INTERVAL_MS, signal);
    const now = stamp();
    if (now !== loadedStamp() && now === last && !signal.aborted) await onChange();
    last = now;
  }
}

/** Differs when one of the files does, or what its name leads to. */
export function stampOf({ file, secretFiles }: ConfigFiles): string {
  return [file, ...secretFiles].map((name) => `${name} ${stampOfFile(name)}`).join('\n');
}

function stampOfFile(file: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join();
  } catch {
    return 'missing'; // the reload says so
  }
}
