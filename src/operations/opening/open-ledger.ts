import { join } from 'node:path';
import { type DiskFailure, diskFailure } from '../../platform/failures/disk-failure.ts';
import { codeOf } from '../../platform/failures/error-code.ts';
import { acquireLock, isLocked, LockHeld } from '../../platform/files/file-lock.ts';
import { makeFolderSync } from '../../platform/files/file-system.ts';

/** Another leadsync holds the data directory. */
export class DataDirInUse extends Error {
  override readonly name = 'DataDirInUse';
  readonly hint =
    'Stop the other one first, or give this one a data_dir of its own. To deliver with more processes, start `leadsync worker`.';
}

/** The data directory cannot be created or used. */
export class DataDirUnusable extends Error {
  override readonly name = 'DataDirUnusable';
  /** The next step for the operator. */
  readonly hint: string;

  /** @param what the folder or file: `The data directory /data`; `special`: meaning of some error codes for this caller */
  constructor(what: string, cause: unknown, special: Readonly<Record<string, DiskFailure>> = {}) {
    const failure = diskFailure(cause, special) ?? { what: `cannot be used (${codeOf(cause)})`, hint: HINT };
    super(`${what} ${failure.what}.`, { cause });
    this.hint = failure.hint;
  }
}

const HINT =
  'Make sure that the folder exists or can be created, and belongs to the user that leadsync runs as.';

const NO_PERMISSION: DiskFailure = {
  what: 'cannot be opened by this user',
  hint: 'Run this command as the user that leadsync runs as, or as root.',
};
/** Meaning of error codes for a command that only checks the lock and writes nothing. */
const WHEN_CHECKING = {
  EACCES: NO_PERMISSION,
  EPERM: NO_PERMISSION,
  SQLITE_CANTOPEN: NO_PERMISSION,
};

/** Maximum wait for the lock, in ms. A process that only checks the lock holds it for less time than this. */
const LOCK_WAIT_MS = 250;

/** Returns the path of the ledger in a data directory. */
export function ledgerFile(dataDir: string): string {
  return join(dataDir, 'ledger.db');
}

/**
 * Creates the data directory if it is missing, and locks it for this process until `release` is called.
 * @throws DataDirInUse, DataDirUnusable
 */
export function holdDataDir(dataDir: string): { release(): void } {
  try {
    makeFolderSync(dataDir, 0o700);
    return acquireLock(lockFile(dataDir), LOCK_WAIT_MS);
  } catch (error) {
    if (error instanceof LockHeld)
      throw new DataDirInUse(`Another leadsync holds the data directory ${dataDir}.`);
    throw unusable(dataDir, error);
  }
}

/** Whether a `run` or `sync` process holds the data directory now. Does not lock it. @throws DataDirUnusable */
export function isDataDirInUse(dataDir: string): boolean {
  try {
    return isLocked(lockFile(dataDir));
  } catch (error) {
    throw unusable(dataDir, error, WHEN_CHECKING);
  }
}

function lockFile(dataDir: string): string {
  return join(dataDir, 'lock');
}

function unusable(
  dataDir: string,
  cause: unknown,
  special?: Readonly<Record<string, DiskFailure>>,
): DataDirUnusable {
  return new DataDirUnusable(`The data directory ${dataDir}`, cause, special);
}
