import { join } from 'node:path';
import { acquireLock, isLocked } from '../platform/files/file-lock.ts';
import { makeFolderSync } from '../platform/files/file-system.ts';
import { folderFailure } from './contract/export-failed.ts';

/** Maximum wait for the lock, in ms. A process that only checks the lock holds it for less time than this. */
const LOOK_MS = 20;

/** Locks an export against other runs, with a file in `folder`. @throws LockHeld if another process holds the lock, ExportFailed */
export function lockExport(folder: string, name: string): { release(): void } {
  try {
    makeFolderSync(folder, 0o700);
    return acquireLock(lockFile(folder, name), LOOK_MS);
  } catch (error) {
    throw folderFailure(folder, error) ?? error;
  }
}

/** Whether any process is running the export; false if that is unknown. */
export function isRunning(folder: string, name: string): boolean {
  try {
    return isLocked(lockFile(folder, name));
  } catch {
    return false; // the lock belongs to another user and cannot be checked
  }
}

function lockFile(folder: string, name: string): string {
  return join(folder, `${name}.lock`);
}
