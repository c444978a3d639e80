import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isBuilt, packageRoot } from './package-root.ts';

const REPLACED = {
  message: 'While this leadsync was running, its program on disk was replaced or removed.',
  hint: 'Restart leadsync: it can no longer load parts that it has not loaded yet. Nothing is lost meanwhile.',
} as const;

/** The build that this process was started from; undefined in a checkout. */
const startedFrom = buildOnDisk();

/**
 * Returns a message for the operator if the program on disk has changed or vanished since this process started. Parts that this process has
 * not loaded yet are then missing, and new threads and processes would run the other version. Undefined otherwise.
 */
export function replacedProgram(): { readonly message: string; readonly hint: string } | undefined {
  return buildOnDisk() === startedFrom ? undefined : REPLACED;
}

function buildOnDisk(): string | undefined {
  if (!isBuilt) return undefined;
  try {
    return readFileSync(join(packageRoot, 'dist/build.json'), 'utf8');
  } catch {
    return ''; // removed, or being replaced
  }
}
