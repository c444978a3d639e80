import { join } from 'node:path';

/** Maximum number of rotated files. */
export const MAX_ROTATED_FILES = 4;

/** Returns the path of the current file in a data directory. */
export function auditFile(folder: string): string {
  return join(folder, 'audit.jsonl');
}

/** Returns the paths of the audit log's current file and of all rotated files that may exist, newest first. */
export function auditFiles(folder: string): readonly string[] {
  const file = auditFile(folder);
  return [file, ...Array.from({ length: MAX_ROTATED_FILES }, (_, n) => `${file}.${n + 1}`)];
}
