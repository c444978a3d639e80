import { statSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { nextBeat } from '../../platform/time/aligned-sleep.ts';
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

/**
 * Reads a configuration for the first time. Takes the stamp first, so that a change made during the first read is noticed. Only reading the
 * configuration shows which files hold secrets; if there are any, reads everything again. @throws the error of `load`
 */
export function readWithStamp<Read extends ConfigFiles>(
  file: string,
  load: () => Read,
): { readonly config: Read; readonly loadedStamp: string } {
  let files: ConfigFiles = { file, secretFiles: [] };
  for (;;) {
    const loadedStamp = stampOf(files);
    const config = load();
    if (isDeepStrictEqual(config.secretFiles, files.secretFiles)) return { config, loadedStamp };
    files = { file, secretFiles: config.secretFiles };
  }
}

/** Returns a string that changes whenever one of the files, or the target of a link, changes. */
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
