import { codeOf } from '../platform/error-code.ts';
import { SinkUnavailable } from './sink.ts';

const MAKE_IT = 'Make it, or give the user that leadsync runs as the right to write there.';

const KNOWN: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  ENOENT: [
    'is gone',
    'Mount it or make it again; a folder that was there is not made anew, for it may be a mount point.',
  ],
  ENOTDIR: [
    'is not a folder, or lies beneath a file',
    'Correct `directory`, or move away the file of that name.',
  ],
  EEXIST: ['is not a folder', 'Correct `directory`, or move away the file of that name.'],
  EACCES: [
    'must not be written to',
    'Give the user that leadsync runs as the right to write and list there.',
  ],
  EPERM: ['must not be written to', 'Give the user that leadsync runs as the right to write and list there.'],
  EROFS: ['is on a file system that is mounted read-only', 'Mount it for writing, or correct `directory`.'],
  ENOSPC: ['is on a full disk', 'Make room; leads wait until then.'],
  EDQUOT: ['is over its disk quota', 'Raise the quota or make room; leads wait until then.'],
  EFBIG: ['takes no file of this size', 'Lower `batch.max`.'],
  EIO: ['is on a disk that fails', "See the system's log; the disk may be dying."],
  ENOTSUP: ['is on a file system that takes no files', 'Correct `directory`.'],
  ESTALE: ['is on a network mount that has gone stale', 'Mount it again.'],
  ENAMETOOLONG: ['has too long a path', 'Choose a shorter `directory`.'],
  EMFILE: ['cannot be written to: too many open files', 'Raise the limit (ulimit -n).'],
  ENFILE: ['cannot be written to: too many open files', "Raise the system's limit."],
};

/** What the same codes mean while a folder is made that was not there. */
const MAKING: typeof KNOWN = {
  ENOENT: ['cannot be made: the file system takes no folder there', 'Correct `directory`.'],
  ENOTSUP: ['cannot be made: the file system takes no folder there', 'Correct `directory`.'],
  ENOTDIR: ['cannot be made: what lies above it is no folder', 'Correct `directory`.'],
  EACCES: ['cannot be made: the folder above it must not be written to', MAKE_IT],
  EPERM: ['cannot be made: the folder above it must not be written to', MAKE_IT],
};

/** Puts a failure of the disk into words: which folder, what is wrong with it, what to do. */
export function diskFailure(folder: string, cause: unknown): SinkUnavailable {
  return inWords(folder, cause, KNOWN);
}

/** The same for a folder that is not there, and cannot be made. */
export function makingFailure(folder: string, cause: unknown): SinkUnavailable {
  return inWords(folder, cause, { ...KNOWN, ...MAKING });
}

function inWords(folder: string, cause: unknown, known: typeof KNOWN): SinkUnavailable {
  const code = codeOf(cause);
  const [what, hint] = (code === undefined ? undefined : known[code]) ?? [
    'cannot be written to',
    "See the system's log.",
  ];
  return new SinkUnavailable(`The folder ${folder} ${what} (${code ?? 'unknown error'}).`, { hint, cause });
}
