import { codeOf } from './error-code.ts';

/** What can be said of a file or folder that cannot be written: a plain clause, and what the operator can do. */
export interface DiskFailure {
  /** Follows the path: `/var/drop is on a full disk (ENOSPC)`. */
  readonly what: string;
  readonly hint: string;
}

const NO_FOLDER: DiskFailure = {
  what: 'is not a folder, or lies beneath a file',
  hint: 'A file stands where a folder has to be: move it away, or name another folder.',
};
const NO_RIGHT: DiskFailure = {
  what: 'must not be written to',
  hint: 'Give the user that leadsync runs as the right to write and list there, and to what is in it.',
};
const FULL: DiskFailure = {
  what: 'is on a full disk',
  hint: 'Make room; a leadsync that runs goes on by itself.',
};

const KNOWN: Readonly<Record<string, DiskFailure>> = {
  ENOENT: {
    what: 'is gone',
    hint: 'Mount it or make it again; a folder that was there is not made anew, for it may be a mount point.',
  },
  ENOTDIR: NO_FOLDER,
  EEXIST: NO_FOLDER,
  EACCES: NO_RIGHT,
  EPERM: NO_RIGHT,
  EROFS: {
    what: 'is on a file system that is mounted read-only',
    hint: 'Mount it for writing, or name another folder: in a container one on a volume.',
  },
  ENOSPC: FULL,
  EDQUOT: {
    what: 'is over its disk quota',
    hint: 'Raise the quota or make room; a leadsync that runs goes on by itself.',
  },
  EFBIG: {
    what: 'takes no file of this size',
    hint: 'Write smaller files (a lower `batch.max`, fewer tables), or to another file system.',
  },
  EIO: { what: 'is on a disk that fails', hint: "See the system's log; the disk may be dying." },
  ENOTSUP: { what: 'is on a file system that takes no files', hint: 'Name another folder.' },
  ESTALE: { what: 'is on a network mount that has gone stale', hint: 'Mount it again.' },
  ENAMETOOLONG: { what: 'has too long a path', hint: 'Choose a shorter name or folder.' },
  EMFILE: {
    what: 'cannot be written to: too many open files',
    hint: 'Raise the limit (ulimit -n).',
  },
  ENFILE: { what: 'cannot be written to: too many open files', hint: "Raise the system's limit." },
  SQLITE_CANTOPEN: NO_RIGHT,
  SQLITE_READONLY: NO_RIGHT,
  SQLITE_FULL: FULL,
};

/**
 * Puts a failure of the disk into words, by the error's `code`; undefined for what is none. `special`: what some codes mean where
 * it was met.
 */
export function diskFailure(
  error: unknown,
  special: Readonly<Record<string, DiskFailure>> = {},
): DiskFailure | undefined {
  const code = codeOf(error);
  const known = code === undefined ? undefined : (special[code] ?? KNOWN[code]);
  return known && { what: `${known.what} (${code})`, hint: known.hint };
}
