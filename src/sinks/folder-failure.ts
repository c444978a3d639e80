import { type DiskFailure, diskFailure } from '../platform/failures/disk-failure.ts';
import { codeOf } from '../platform/failures/error-code.ts';
import { SinkUnavailable } from './sink.ts';

const NOT_THERE: DiskFailure = {
  what: 'cannot be made: the file system takes no folder there',
  hint: 'Correct `directory`.',
};
const NO_RIGHT: DiskFailure = {
  what: 'cannot be made: the folder above it must not be written to',
  hint: 'Make it, or give the user that leadsync runs as the right to write there.',
};

/** What some codes mean while a folder is made that was not there. */
const MAKING: Readonly<Record<string, DiskFailure>> = {
  ENOENT: NOT_THERE,
  ENOTSUP: NOT_THERE,
  ENOTDIR: { what: 'cannot be made: what lies above it is no folder', hint: 'Correct `directory`.' },
  EACCES: NO_RIGHT,
  EPERM: NO_RIGHT,
};

const NOT_FOR_US: DiskFailure = {
  what: 'must not be read',
  hint: 'Give the user that leadsync runs as the right to read and list there, and what is in it.',
};
/** What some codes mean while a folder is read. */
const READING: typeof MAKING = { EACCES: NOT_FOR_US, EPERM: NOT_FOR_US };

/** A folder that cannot be written to: which one, what is wrong with it, what to do. */
export function folderFailure(folder: string, cause: unknown): SinkUnavailable {
  return sinkUnavailable(folder, cause);
}

/** The same for a folder that cannot be read. */
export function readingFailure(folder: string, cause: unknown): SinkUnavailable {
  return sinkUnavailable(folder, cause, READING, 'cannot be read');
}

/** The same for a folder that is not there, and cannot be made. */
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
    hint: "See the system's log.",
  };
  return new SinkUnavailable(`The folder ${folder} ${what}.`, { hint, cause });
}
