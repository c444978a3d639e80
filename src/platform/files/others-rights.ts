import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const READ = 0o4;
const WRITE = 0o2;
const ENTER = 0o1;

/**
 * What every user of this machine may do with a file or folder, beside its owner and group. Nothing when it is missing or
 * when a folder above it keeps them out.
 */
export function rightsOfOthers(path: string): ReadonlySet<'read' | 'write' | 'enter'> {
  try {
    const real = realpathSync(path);
    if (!isWayOpen(dirname(real))) return new Set();
    const { mode } = statSync(real);
    return new Set([
      ...(mode & READ ? (['read'] as const) : []),
      ...(mode & WRITE ? (['write'] as const) : []),
      ...(mode & ENTER ? (['enter'] as const) : []),
    ]);
  } catch {
    return new Set(); // whatever needs the file says that it cannot be reached
  }
}

function isWayOpen(folder: string): boolean {
  if ((statSync(folder).mode & ENTER) === 0) return false;
  return folder === dirname(folder) || isWayOpen(dirname(folder));
}
