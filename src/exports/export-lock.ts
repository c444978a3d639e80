import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { acquireLock } from '../platform/lock.ts';
import { diskFailure } from './export-failed.ts';

/** Keeps other runs of an export away, in the data directory's folder for exports. @throws LockHeld, ExportFailed */
export function lockExport(folder: string, name: string): { release(): void } {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return acquireLock(join(folder, `${name}.lock`));
  } catch (error) {
    throw diskFailure(folder, error) ?? error;
  }
}
