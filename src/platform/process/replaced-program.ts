import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isBuilt, packageRoot } from './package-root.ts';

const REPLACED = {
  message: 'leadsync was replaced by another version while this one runs.',
  hint: 'Restart it: what this one has not loaded yet, it cannot load any more. Nothing is lost meanwhile.',
} as const;

/** What the build says of itself where this process was started from; undefined in a checkout. */
const startedFrom = buildOnDisk();

/**
 * Returns what to tell the operator when the program on disk is no longer the one that this process runs, or is gone: parts that it
 * has not loaded yet are missing, and threads and processes that it starts would run the other version. Undefined otherwise.
 */
export function replacedProgram(): { readonly message: string; readonly hint: string } | undefined {
  return buildOnDisk() === startedFrom ? undefined : REPLACED;
}

function buildOnDisk(): string | undefined {
  if (!isBuilt) return undefined;
  try {
    return readFileSync(join(packageRoot, 'dist/build.json'), 'utf8');
  } catch {
    return ''; // gone, or on its way
  }
}
