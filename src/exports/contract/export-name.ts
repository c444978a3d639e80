import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { printStamp } from '../../platform/text/human-readable.ts';

/** File names of exports, such as `nightly-20261122T030000Z.parquet`; a folder has no extension. A backup's name ends in `.db.gz`. */

/** Returns the file name of an export that is made at `at`. */
export function fileNameOf(name: string, at: Date, ending: string): string {
  return `${name}-${printStamp(at).replace(/\.\d+/, '')}${ending}`;
}

/** Whether `file` is the name of a complete file or folder of the export `name`. */
export function isOf(name: string, file: string): boolean {
  return timePart(name, file) !== undefined;
}

/** Returns a temporary name in the same folder, for a file that is being written or removed. */
export function temporaryName(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(8).toString('hex')}.tmp`);
}

/** Whether `file` is a temporary name of the export `name`. */
export function isTemporaryName(name: string, file: string): boolean {
  const [, made] = /^\.(.+)\.[0-9a-f]{16}\.tmp(?:-journal)?$/.exec(file) ?? [];
  return made !== undefined && isOf(name, made);
}

/** Returns the file names of one export, oldest first. */
export function inOrder(files: readonly string[]): readonly string[] {
  return [...files].sort();
}

function timePart(name: string, file: string): string | undefined {
  if (!file.startsWith(`${name}-`)) return undefined;
  return /^\d{8}T\d{6}Z(?=$|\.(?:parquet|csv|jsonl|sqlite|db\.gz)$)/.exec(file.slice(name.length + 1))?.[0];
}
