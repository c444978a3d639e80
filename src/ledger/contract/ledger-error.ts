/** The kind of a `LedgerError`, for code to branch on. */
export type LedgerErrorCode =
  | 'full' // no space left on the disk
  | 'io' // the disk failed
  | 'busy' // another process kept the ledger locked for too long
  | 'newer' // written by a newer leadsync
  | 'older' // written by an older leadsync, and this process may not upgrade it
  | 'foreign' // not a ledger
  | 'damaged'
  | 'unwritable'
  | 'missing'
  | 'name-taken' // a sink cannot be renamed, because another sink has its new name
  | 'away' // the server of the ledger cannot be reached
  | 'standby' // the server of the ledger is read-only
  | 'rights' // the server refuses the user
  | 'unsuitable' // the server is too old, or the database has an encoding in which not every lead can be stored
  | 'pooled' // a connection pooler keeps leadsync from having sessions of its own at the server
  | 'held' // another leadsync works with it
  | 'fenced' // the poll is not the one that the ledger knows
  | 'replaced' // the cursor belongs to another ledger, or to an earlier history of this one
  | 'unfinished' // a copy of another ledger that is not complete
  | 'moved' // it was copied to another place, and is used there
  | 'taken' // the target of a copy has leads of its own
  | 'unexpected';

/** The codes of errors after which the same call may succeed later. A server may refuse a user whose password is being changed. */
const TRANSIENT: ReadonlySet<LedgerErrorCode> = new Set(['full', 'io', 'busy', 'away', 'standby', 'rights']);

/**
 * The ledger could not do what the caller requested. It recorded nothing of that call or, if the call works in chunks, only the chunks before
 * the failure.
 */
export class LedgerError extends Error {
  override readonly name = 'LedgerError';
  readonly code: LedgerErrorCode;
  /** The operator's next step. */
  readonly hint: string;

  constructor(code: LedgerErrorCode, message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.hint = hint;
  }

  /** Whether the same call may succeed later. */
  get isTransient(): boolean {
    return TRANSIENT.has(this.code);
  }
}

/** The hint for a damaged ledger. */
export const RECOVER =
  'Stop leadsync and its workers. `leadsync recover` shows what can still be read, and with --yes makes a new ledger from it. A recent backup may contain more: `leadsync restore` verifies a backup and shows what would change.';

/** Like `toLedgerError`, but for a read-only connection, which writes only the temporary files of its queries and the shared-memory file. */
export function toReadingError(error: unknown, file: string): LedgerError {
  const code = String((error as { code?: unknown }).code ?? '');
  if (/^SQLITE_(CANTOPEN|READONLY|PERM)/.test(code))
    return new LedgerError(
      'unwritable',
      `The ledger ${file} cannot be opened (${code}).`,
      'To read the ledger, this user needs permission to read the file and to write ledger.db-shm beside it. Run this command as the user that leadsync runs as, or copy a backup to a folder of your own.',
      error,
    );
  if (!code.startsWith('SQLITE_FULL')) return toLedgerError(error, file);
  return new LedgerError(
    'full',
    'There is no space for the temporary files of a query that sorts or groups many rows.',
    'SQLite writes them to the folder named by SQLITE_TMPDIR, else TMPDIR, else /var/tmp. Free some space there, or set SQLITE_TMPDIR to a folder with more space.',
    error,
  );
}

/** Returns a `LedgerError` that says what SQLite's error code means for the operator. @see https://www.sqlite.org/rescode.html */
export function toLedgerError(error: unknown, file: string): LedgerError {
  if (error instanceof LedgerError) return error;
  const code = String((error as { code?: unknown }).code ?? '');
  if (code.startsWith('SQLITE_FULL')) {
    return new LedgerError(
      'full',
      `The disk has no space left for the ledger ${file}.`,
      'Free some space; a running leadsync then continues by itself.',
      error,
    );
  }
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) {
    return new LedgerError(
      'busy',
      `Another process kept the ledger ${file} locked for too long.`,
      'Find the process that holds a write transaction on the ledger, and end it.',
      error,
    );
  }
  if (code.startsWith('SQLITE_NOTADB')) {
    return new LedgerError(
      'foreign',
      `${file} is not a leadsync ledger.`,
      'Point data_dir at another folder, or move that file away.',
      error,
    );
  }
  if (code.startsWith('SQLITE_CORRUPT')) {
    return new LedgerError('damaged', `The ledger ${file} is damaged.`, RECOVER, error);
  }
  if (code.startsWith('SQLITE_CONSTRAINT')) {
    return new LedgerError(
      'unexpected',
      `The ledger ${file} did not accept what leadsync wrote (${code}); none of it was recorded.`,
      'This is a fault in leadsync: please report it. It does not mean that the file is damaged: `leadsync check` shows whether it is, and only a damaged file has to be restored.',
      error,
    );
  }
  if (
    code.startsWith('SQLITE_READONLY') ||
    code.startsWith('SQLITE_CANTOPEN') ||
    code.startsWith('SQLITE_PERM')
  ) {
    return new LedgerError(
      'unwritable',
      `The ledger ${file} cannot be opened for writing.`,
      'Check that the folder exists, is on a writable file system and belongs to the user that leadsync runs as.',
      error,
    );
  }
  if (code.startsWith('SQLITE_IOERR')) {
    return new LedgerError(
      'io',
      `Reading or writing the ledger ${file} failed (${code}).`,
      'Check the disk; a running leadsync tries again by itself.',
      error,
    );
  }
  return new LedgerError(
    'unexpected',
    `The ledger ${file} failed${code ? ` (${code})` : ''}.`,
    'This is a fault in leadsync: please report it.',
    error,
  );
}
