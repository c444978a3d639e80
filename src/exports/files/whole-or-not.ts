import { lstat, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../platform/failures/error-code.ts';
import { disk } from '../../platform/files/files.ts';
import { inTheMaking } from '../contract/export-name.ts';

/** Something of that name is there, and was left as it is. */
export class AlreadyThere extends Error {
  override readonly name = 'AlreadyThere';
}

/** What was being made is gone, or a part of it: nothing has appeared. */
export class RemovedMeanwhile extends Error {
  override readonly name = 'RemovedMeanwhile';
  /** What the operator can do next. */
  readonly hint = 'Leave files whose names end in .tmp alone while an export or a backup runs.';
}

/** How Node and SQLite say that a file which was there is gone. */
const GONE: readonly (string | undefined)[] = ['ENOENT', 'SQLITE_READONLY_DBMOVED'];

/**
 * Makes a file or a folder that appears complete or not at all, and then survives a power cut: `make` fills another name beside it.
 * @throws AlreadyThere, before `make` where that can be told by then; RemovedMeanwhile; Node's error of the step that failed
 */
export async function wholeOrNot(path: string, make: (temporary: string) => Promise<void>): Promise<void> {
  await stat(dirname(path)); // a folder whose name was mistyped is not made
  await refuseTaken(path);
  const temporary = inTheMaking(path);
  try {
    await make(temporary);
    await syncAll(temporary);
    await refuseTaken(path);
    await rename(temporary, path);
  } catch (error) {
    // It is personal data that nobody would look after; the failure is the thing to report.
    await rm(temporary, { recursive: true, force: true }).catch(() => undefined);
    if (!GONE.includes(codeOf(error))) throw error;
    await stat(dirname(path)); // a folder that is gone is the thing to report
    throw new RemovedMeanwhile(`What was being made of ${path} was removed before it was complete.`, {
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
  if (taken) throw new AlreadyThere(`${path} is there already, and was left as it is.`);
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
