import { codeOf } from '../platform/error-code.ts';

/** A scheduled export could not be made or brought where it belongs. The message is a plain sentence without any secret. */
export class ExportFailed extends Error {
  override readonly name = 'ExportFailed';
  /** What the operator can do next. */
  readonly hint: string;

  constructor(message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.hint = hint;
  }
}

/** What to do about an error of the disk. */
const DISK: Readonly<Record<string, string>> = {
  ENOENT: 'Mount or make it: a folder that was there is not made anew, for it may be a mount point.',
  ENOTDIR: 'What it is to lie in is no folder: correct `directory`.',
  EEXIST: 'What it is to lie in is no folder: correct `directory`.',
  EACCES: 'Give the user that leadsync runs as the right to write and list there.',
  EPERM: 'Give the user that leadsync runs as the right to write and list there.',
  EROFS: 'The file system is mounted read-only: mount it for writing, or choose another folder.',
  ENOSPC: 'The disk is full: make room. Nothing half was left behind.',
  EDQUOT: 'The disk quota is used up: raise it or make room. Nothing half was left behind.',
  EFBIG: 'The file system takes no file of this size: export fewer tables, or to another one.',
  EIO: "See the system's log; the disk may be dying.",
  ENOTSUP: 'The file system takes no files: correct `directory`.',
  ESTALE: 'The network mount has gone stale: mount it again.',
  SQLITE_CANTOPEN:
    'Give the user that leadsync runs as the right to write and list there, and to what is in it.',
  SQLITE_READONLY:
    'Give the user that leadsync runs as the right to write and list there, and to what is in it.',
  SQLITE_FULL: 'The disk is full: make room. Nothing half was left behind.',
  ENAMETOOLONG: 'Choose a shorter name or folder.',
};

/** A failure of the disk at a folder in words; undefined where it is none. */
export function diskFailure(folder: string, error: unknown): ExportFailed | undefined {
  const code = codeOf(error);
  const hint = code === undefined ? undefined : DISK[code];
  return hint === undefined
    ? undefined
    : new ExportFailed(`${folder} cannot be written (${code}).`, hint, error);
}
