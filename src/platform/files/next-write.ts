import { type FSWatcher, watch } from 'node:fs';
import type { Clock } from '../time/clock.ts';

/**
 * Resolves when any process writes to a file, when the time is over, or when the signal aborts. A write between the call and the
 * `await` counts. Where the file is missing, or the system does not tell of writes, the time alone counts.
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

function watched(file: string, tell: () => void): FSWatcher | undefined {
  try {
    return watch(file, { persistent: false }, tell).on('error', () => undefined);
  } catch {
    return undefined; // the file is missing, or the system has no watch left
  }
}
