import { once } from 'node:events';
import { Writable } from 'node:stream';
import type { Surroundings } from '../shell/context.ts';

/** Writes text, and waits until the reader can take more. Returns false if the output was closed. */
export async function isWritten(stdout: Surroundings['stdout'], text: string): Promise<boolean> {
  if (stdout.write(text) !== false || !(stdout instanceof Writable)) return true;
  return once(stdout, 'drain').then(
    () => true,
    () => false,
  );
}
