import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { acquireLock, isLocked } from '../platform/files/lock.ts';
import { folderFailure } from './contract/export-failed.ts';

/** In ms: whoever only looks whether it is held is gone by then. */
const LOOK_MS = 20;

/** Keeps other runs of an export away, in the data directory's folder for exports. @throws LockHeld, ExportFailed */
export function lockExport(folder: string, name: string): { release(): void } {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return acquireLock(lockFile(folder, name), LOOK_MS);
  } catch (error) {
    throw folderFailure(folder, error) ?? error;
  }
}

/** Whether a run of it is under way, in whatever process; also false when that cannot be told. */
export function isRunning(folder: string, name: string): boolean {
  try {
    return isLocked(lockFile(folder, name));
  } catch {
    return false; // the lock is another user's, who alone can tell
  }
}

function lockFile(folder: string, name: string): string {
  return join(folder, `${name}.lock`);
}
