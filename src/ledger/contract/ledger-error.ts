/** What is wrong with the ledger, for code to branch on. */
export type LedgerErrorCode =
  | 'full' // no room on the disk
  | 'io' // the disk failed
  | 'busy' // another process held the ledger for too long
  | 'newer' // written by a newer leadsync
  | 'older' // written by an older leadsync, and not to be changed here
  | 'foreign' // not a ledger
  | 'damaged'
  | 'unwritable'
  | 'missing'
  | 'unexpected';

/** The ledger cannot do what was asked; nothing of it was recorded. */
export class LedgerError extends Error {
  override readonly name = 'LedgerError';
  readonly code: LedgerErrorCode;
  /** What the operator can do next. */
  readonly hint: string;

  constructor(code: LedgerErrorCode, message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.hint = hint;
  }

  /** Whether trying again in a while may work. */
  get isTransient(): boolean {
    return this.code === 'full' || this.code === 'io' || this.code === 'busy';
  }
}

/** What to do about a damaged ledger. */
export const RECOVER =
  'Stop leadsync and its workers. `leadsync recover` shows what can still be read, and with --yes makes a new ledger of it. A recent backup may have more: restore it after removing ledger.db-wal and ledger.db-shm.';

/** As `toLedgerError`, of a connection that only reads: all that it writes are the temporary files of a query, and what readers share. */
export function toReadingError(error: unknown, file: string): LedgerError {
  const code = String((error as { code?: unknown }).code ?? '');
  if (/^SQLITE_(CANTOPEN|READONLY|PERM)/.test(code))
    return new LedgerError(
      'unwritable',
      `The ledger ${file} cannot be opened (${code}).`,
      'Reading needs the right to read it and to write ledger.db-shm beside it. Run this as the user that leadsync runs as, or copy a backup to a folder of your own.',
      error,
    );
  if (!code.startsWith('SQLITE_FULL')) return toLedgerError(error, file);
  return new LedgerError(
    'full',
    'There is no room for the temporary files of a query that sorts or groups much.',
    'They are written to the folder that SQLITE_TMPDIR names, else TMPDIR, else /var/tmp. Free some space there, or set SQLITE_TMPDIR to a folder with more room.',
    error,
  );
}

/** Says what SQLite's error code means for the operator. @see https://www.sqlite.org/rescode.html */
export function toLedgerError(error: unknown, file: string): LedgerError {
  if (error instanceof LedgerError) return error;
  const code = String((error as { code?: unknown }).code ?? '');
  if (code.startsWith('SQLITE_FULL')) {
    return new LedgerError(
      'full',
      `There is no room on the disk for the ledger ${file}.`,
      'Free some space; a leadsync that runs goes on by itself.',
      error,
    );
  }
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) {
    return new LedgerError(
      'busy',
      `Another process kept the ledger ${file} locked for too long.`,
      'End whatever holds a write transaction on it.',
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
      `The ledger ${file} does not accept what leadsync wrote (${code}); nothing of it was kept.`,
      'This is a fault in leadsync: please report it. It does not mean that the file is damaged: `leadsync check` shows whether it is, and only then is there something to restore.',
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
      'Check the disk; a leadsync that runs tries again by itself.',
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
