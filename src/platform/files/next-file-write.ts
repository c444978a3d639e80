import { type FSWatcher, watch } from 'node:fs';
import type { Clock } from '../time/clock.ts';

/**
 * Resolves at the next write to a file, or after `atMostMs`, or when the signal aborts. A write between the call and the `await` counts.
 * Writes go unnoticed if the file is missing at the call, or if the system cannot watch it.
 */
export async function nextWrite(
  file: string,
  clock: Clock,
  atMostMs: number,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const end = () => over.abort();
  if (signal.aborted) return;
  signal.addEventListener('abort', end, { once: true });
  const watcher = watched(file, end);
  await clock.sleep(atMostMs, over.signal);
  watcher?.close();
  signal.removeEventListener('abort', end);
}

function watched(file: string, onWrite: () => void): FSWatcher | undefined {
  try {
    return watch(file, { persistent: false }, onWrite).on('error', () => undefined);
  } catch {
    return undefined; // the file is missing, or the system has no watches left
  }
}
