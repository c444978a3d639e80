import { codeOf } from '../../platform/network-failure.ts';
import { SinkUnavailable } from '../sink.ts';

const KNOWN: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  ENOENT: [
    'is gone',
    'Mount it or make it again; a folder that was there is not made anew, for it may be a mount point.',
  ],
  ENOTDIR: ['is not a folder', 'Correct `directory`, or move away the file of that name.'],
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
  ESTALE: ['is on a network mount that has gone stale', 'Mount it again.'],
  ENAMETOOLONG: ['has too long a path', 'Choose a shorter `directory`.'],
  EMFILE: ['cannot be written to: too many open files', 'Raise the limit (ulimit -n).'],
  ENFILE: ['cannot be written to: too many open files', "Raise the system's limit."],
};

/** Puts a failure of the disk into words: which folder, what is wrong with it, what to do. */
export function diskFailure(folder: string, cause: unknown): SinkUnavailable {
  const code = codeOf(cause);
  const [what, hint] = (code === undefined ? undefined : KNOWN[code]) ?? [
    'cannot be written to',
    "See the system's log.",
  ];
  return new SinkUnavailable(`The folder ${folder} ${what} (${code ?? 'unknown error'}).`, { hint, cause });
}
