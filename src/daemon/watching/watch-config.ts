import { statSync } from 'node:fs';
import { nextBeat } from '../../platform/time/beat.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { ConfigFiles } from '../units/reloader.ts';

const CHECK_INTERVAL_MS = 1_000;

/**
 * Calls `onChange` when the files differ from those of the last reload (`loadedStamp`) and have not changed since the previous check,
 * until the signal aborts. Polls the files, because swapped symbolic links, mounted files and network folders cause no notification.
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

/** Returns a text that changes whenever one of the files, or the target of a link, changes. */
export function stampOf({ file, secretFiles }: ConfigFiles): string {
  return [file, ...secretFiles].map((name) => `${name} ${stampOfFile(name)}`).join('\n');
}

function stampOfFile(file: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join();
  } catch {
    return 'missing'; // the reload reports it
  }
}
