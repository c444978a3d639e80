import { codeOf } from './error-code.ts';

/** A failure to write a file or folder, in words. */
export interface DiskFailure {
  /** What is wrong, as a clause that follows the path: `is on a full disk (ENOSPC)`. */
  readonly what: string;
  /** The operator's next step. */
  readonly hint: string;
}

const NO_FOLDER: DiskFailure = {
  what: 'is not a folder, or is beneath a file',
  hint: 'There is a file where a folder must be: move it away, or set another folder.',
};
const NO_RIGHT: DiskFailure = {
  what: 'is not writable by leadsync',
  hint: 'Allow the user that leadsync runs as to list the folder, and to create and write files in it.',
};
const FULL: DiskFailure = {
  what: 'is on a full disk',
  hint: 'Free space on the disk; a running leadsync then continues by itself.',
};

const KNOWN: Readonly<Record<string, DiskFailure>> = {
  ENOENT: {
    what: 'is gone',
    hint: 'Mount it or create it again. leadsync does not create it again by itself, because it may be a mount point.',
  },
  ENOTDIR: NO_FOLDER,
  EEXIST: NO_FOLDER,
  EACCES: NO_RIGHT,
  EPERM: NO_RIGHT,
  EROFS: {
    what: 'is on a file system that is mounted read-only',
    hint: 'Mount it for writing, or set another folder; in a container, one on a volume.',
  },
  ENOSPC: FULL,
  EDQUOT: {
    what: 'is over its disk quota',
    hint: 'Raise the quota or free space; a running leadsync then continues by itself.',
  },
  EFBIG: {
    what: 'does not allow a file of this size',
    hint: 'Write smaller files (a lower `batch.max`, fewer tables), or use another file system.',
  },
  EIO: { what: 'is on a failing disk', hint: 'Check the system log; the disk may be failing.' },
  ENOTSUP: {
    what: 'is on a file system where files cannot be created, such as /proc or /sys',
    hint: 'Set another folder.',
  },
  ESTALE: { what: 'is on a stale network mount', hint: 'Mount it again.' },
  ENAMETOOLONG: { what: 'has a path that is too long', hint: 'Choose a shorter name or path.' },
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
 * Returns the description of a disk failure, by the error's `code`; undefined if the error is not a disk failure. `special` overrides the
 * descriptions of some codes.
 */
export function diskFailure(
  error: unknown,
  special: Readonly<Record<string, DiskFailure>> = {},
): DiskFailure | undefined {
  const code = codeOf(error);
  const known = code === undefined ? undefined : (special[code] ?? KNOWN[code]);
  return known && { what: `${known.what} (${code})`, hint: known.hint };
}
