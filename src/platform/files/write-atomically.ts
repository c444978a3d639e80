import { lstat, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../failures/error-code.ts';
import { disk } from './file-system.ts';
import { temporaryName } from './temporary-name.ts';

/** The path exists already; it was not changed. */
export class PathExists extends Error {
  override readonly name = 'PathExists';
}

/** Another process removed the temporary file or a part of it; nothing was created. */
export class TemporaryRemoved extends Error {
  override readonly name = 'TemporaryRemoved';
  /** The next step for the operator. */
  readonly hint = 'Leave files whose names end in .tmp alone while an export or a backup runs.';
}

/** Error codes of Node and SQLite for a file that has been removed. */
const GONE: readonly (string | undefined)[] = ['ENOENT', 'SQLITE_READONLY_DBMOVED'];

/**
 * Writes a file or a folder atomically and durably: `make` writes it under a temporary name beside `path`; it is then synced and renamed.
 * @throws PathExists (before `make` runs, if the path exists from the start); TemporaryRemoved; the error from Node if a step fails
 */
export async function writeAtomically(
  path: string,
  make: (temporary: string) => Promise<void>,
): Promise<void> {
  await stat(dirname(path)); // fails if the parent folder is missing, because its name may be mistyped
  await refuseTaken(path);
  const temporary = temporaryName(path);
  try {
    await make(temporary);
    await syncAll(temporary);
    await refuseTaken(path);
    await rename(temporary, path);
  } catch (error) {
    // Do not leave personal data behind. Report the first failure, not a failure to remove the files.
    await rm(temporary, { recursive: true, force: true }).catch(() => undefined);
    if (!GONE.includes(codeOf(error))) throw error;
    await stat(dirname(path)); // if the folder is gone, report that
    throw new TemporaryRemoved(`The temporary files of ${path} were removed before they were complete.`, {
      cause: error,
    });
  }
  await disk.syncFolder(dirname(path));
}

async function refuseTaken(path: string): Promise<void> {
  const taken = await lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
  if (taken) throw new PathExists(`${path} already exists and was left as it is.`);
}

async function syncAll(path: string): Promise<void> {
  if ((await lstat(path)).isDirectory()) {
    for (const name of await readdir(path)) await syncAll(join(path, name));
    await disk.syncFolder(path);
    return;
  }
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
