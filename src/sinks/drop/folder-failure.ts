import { type DiskFailure, diskFailure } from '../../platform/failures/disk-failure.ts';
import { codeOf } from '../../platform/failures/error-code.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';

const NOT_THERE: DiskFailure = {
  what: 'cannot be created: the file system does not allow a folder there',
  hint: 'Correct `directory`.',
};
const NO_RIGHT: DiskFailure = {
  what: 'cannot be created: leadsync may not write to its parent folder',
  hint: 'Create it, or allow the user that leadsync runs as to write to its parent folder.',
};

/** What some error codes mean when leadsync creates a missing folder. */
const MAKING: Readonly<Record<string, DiskFailure>> = {
  ENOENT: NOT_THERE,
  ENOTSUP: NOT_THERE,
  ENOTDIR: { what: 'cannot be created: its parent is not a folder', hint: 'Correct `directory`.' },
  EACCES: NO_RIGHT,
  EPERM: NO_RIGHT,
};

const NOT_FOR_US: DiskFailure = {
  what: 'may not be read by leadsync',
  hint: 'Allow the user that leadsync runs as to list the folder and read its files.',
};
/** What some error codes mean when leadsync reads a folder. */
const READING: typeof MAKING = { EACCES: NOT_FOR_US, EPERM: NOT_FOR_US };

/** Returns the error for a folder that leadsync cannot write to. */
export function folderFailure(folder: string, cause: unknown): SinkUnavailable {
  return sinkUnavailable(folder, cause);
}

/** Returns the error for a folder that leadsync cannot read. */
export function readingFailure(folder: string, cause: unknown): SinkUnavailable {
  return sinkUnavailable(folder, cause, READING, 'cannot be read');
}

/** Returns the error for a missing folder that leadsync cannot create. */
export function creationFailure(folder: string, cause: unknown): SinkUnavailable {
  return sinkUnavailable(folder, cause, MAKING);
}

function sinkUnavailable(
  folder: string,
  cause: unknown,
  special?: typeof MAKING,
  otherwise = 'cannot be written to',
): SinkUnavailable {
  const { what, hint } = diskFailure(cause, special) ?? {
    what: `${otherwise} (${codeOf(cause) ?? 'unknown error'})`,
    hint: 'Check the system log.',
  };
  return new SinkUnavailable(`The folder ${folder} ${what}.`, { hint, cause });
}
