import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../platform/failures/error-code.ts';
import { LockHeld } from '../platform/files/file-lock.ts';
import { lockExport } from './export-lock.ts';

/** Pattern for the names of temporary export files in the data directory. The first group is the name of the export. */
const STAGED =
  /^(?:\.read-[0-9a-f-]{36}-|\.)?(.+)-\d{8}T\d{6}Z(?:\.(?:parquet|csv|jsonl|sqlite|db\.gz))?(?:\.[0-9a-f]{16}\.tmp(?:-journal)?)?$/;

/**
 * Removes the files that killed runs left in the data directory if their exports are no longer configured, because no later run would
 * remove them. Skips an export that is running under another configuration. @throws ExportFailed, or the error from Node if the disk fails
 */
export async function removeStagedOfOthers(folder: string, configured: ReadonlySet<string>): Promise<void> {
  for (const file of await namesIn(folder)) {
    const [, name] = STAGED.exec(file) ?? [];
    if (name !== undefined && !configured.has(name)) await removeUnlessRunning(folder, name, file);
  }
}

/** Returns the names in a folder; an empty list if it does not exist. */
async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
}

async function removeUnlessRunning(folder: string, name: string, file: string): Promise<void> {
  try {
    const lock = lockExport(folder, name);
    try {
      await rm(join(folder, file), { recursive: true, force: true });
    } finally {
      lock.release();
    }
  } catch (error) {
    if (!(error instanceof LockHeld)) throw error;
  }
}
