import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';

/** Returns a temporary name in the same folder, for a file that is being written or removed. */
export function temporaryName(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(8).toString('hex')}.tmp`);
}

/** Returns the name to which a temporary name belongs, also for SQLite's journal beside the file; undefined if `file` is not a temporary name. */
export function nameOfTemporary(file: string): string | undefined {
  return /^\.(.+)\.[0-9a-f]{16}\.tmp(?:-journal)?$/.exec(file)?.[1];
}
