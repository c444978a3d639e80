import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const READ = 0o4;
const WRITE = 0o2;
const ENTER = 0o1;

/**
 * Returns the rights of users other than the owner and group to a file or folder. Empty if it is missing, or if such users cannot enter one of its
 * parents.
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
    return new Set(); // the code that uses the file reports that it is unreachable
  }
}

function isWayOpen(folder: string): boolean {
  if ((statSync(folder).mode & ENTER) === 0) return false;
  return folder === dirname(folder) || isWayOpen(dirname(folder));
}
