import { nameOfTemporary } from '../../platform/files/temporary-name.ts';
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

/** Whether `file` is a temporary name of the export `name`. */
export function isTemporaryName(name: string, file: string): boolean {
  const complete = nameOfTemporary(file);
  return complete !== undefined && isOf(name, complete);
}

/** Returns the file names of one export, oldest first. */
export function inOrder(files: readonly string[]): readonly string[] {
  return [...files].sort();
}

function timePart(name: string, file: string): string | undefined {
  if (!file.startsWith(`${name}-`)) return undefined;
  return /^\d{8}T\d{6}Z(?=$|\.(?:parquet|csv|jsonl|sqlite|db\.gz)$)/.exec(file.slice(name.length + 1))?.[0];
}
