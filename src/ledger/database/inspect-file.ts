import { fork } from 'node:child_process';
import { readFileSync, type Stats, statSync } from 'node:fs';
import { extname } from 'node:path';
import Database from 'better-sqlite3';
import { codeOf } from '../../platform/failures/error-code.ts';
import { replacedProgram } from '../../platform/process/replaced-program.ts';
import { LedgerError, RECOVER, toReadingError } from '../contract/ledger-error.ts';

/** Line breaks and the whitespace around them. SQLite's messages may have several lines. */
const LINE_BREAKS = /\s*\n\s*/g;

/**
 * Returns the size of a ledger's file in bytes, or undefined if there is no such file.
 * @throws LedgerError if the path is not a regular file, or if this user is not allowed to find out whether it exists
 */
export function ledgerSize(file: string): number | undefined {
  let found: Stats;
  try {
    found = statSync(file);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new LedgerError(
      'unwritable',
      `The ledger ${file} cannot be reached (${code}).`,
      'Run this command as the user that leadsync runs as, or give this user access to data_dir.',
      error,
    );
  }
  if (found.isFile()) return found.size;
  throw new LedgerError(
    'foreign',
    `${file} is ${found.isDirectory() ? 'a folder' : 'a pipe or a device'}, not a ledger.`,
    'Move it away. A container engine creates a folder if the file to mount is missing, so mount the folder data_dir instead.',
  );
}

/** SQLite treats a file of 1 byte as empty. */
const EMPTY_BYTES = 1;
/**
 * The first page, which SQLite writes into a new file before the first commit: its size in bytes, and the offset of the schema number in
 * it.
 */
const FIRST_PAGE = { bytes: 4_096, schemaNumberAt: 60 };

/**
 * Whether a ledger has no content: its file is missing or empty, or has only the first page, and the write-ahead log, which held the rest, is
 * missing or unreadable.
 * @throws LedgerError in the same cases as `ledgerSize`, or if SQLite cannot open the file
 */
export function isBlank(file: string): boolean {
  const size = ledgerSize(file) ?? 0;
  if (size <= EMPTY_BYTES) return true;
  return size === FIRST_PAGE.bytes && schemaNumberIn(file) === 0;
}

/**
 * Returns the schema number of a ledger. If there is no write-ahead log, reads the number directly from the file's header, because SQLite
 * would create a log beside the file.
 */
function schemaNumberIn(file: string): number {
  if ((ledgerSize(`${file}-wal`) ?? 0) === 0)
    return readFileSync(file).readUInt32BE(FIRST_PAGE.schemaNumberAt);
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    return Number(db.pragma('user_version', { simple: true }));
  } catch (error) {
    throw toReadingError(error, file);
  } finally {
    db?.close();
  }
}

/** The result from the checking process: the faults of the file, or the code of the error that prevented the check. */
export type InspectionResult = { readonly faults: readonly string[] } | { readonly code: string };

/**
 * Checks a ledger's file for damage in a separate process, because a large file takes minutes. That process ends when the signal aborts or this
 * process ends. `whole` also compares each index with its table, and checks that every row to which another row refers exists. Returns undefined if
 * there is no damage, if the signal aborted the check, or if an upgrade has replaced the program on disk. If the returned error has a code other than
 * `damaged`, it says what prevented the check.
 */
export function inspectFile(
  file: string,
  how: 'quick' | 'whole',
  signal: AbortSignal,
): Promise<LedgerError | undefined> {
  if (signal.aborted || replacedProgram()) return Promise.resolve(undefined);
  const program = new URL(`./inspect-process${extname(import.meta.url)}`, import.meta.url);
  const child = fork(program, [file, how, String(process.pid)], { stdio: 'ignore', execArgv: [] });
  const end = () => child.kill('SIGKILL');
  signal.addEventListener('abort', end, { once: true });
  let found: InspectionResult | undefined;
  child.once('message', (message) => {
    found = message as InspectionResult;
  });
  const done = Promise.withResolvers<LedgerError | undefined>();
  child.once('error', () => done.resolve(unknown(file)));
  child.once('close', () => done.resolve(signal.aborted ? undefined : failureOf(file, found)));
  return done.promise.finally(() => signal.removeEventListener('abort', end));
}

function failureOf(file: string, found: InspectionResult | undefined): LedgerError | undefined {
  if (found === undefined) return unknown(file);
  if ('code' in found) return toReadingError(found, file);
  if (found.faults.length === 0) return undefined;
  const what = found.faults.map((one) => one.replaceAll(LINE_BREAKS, ' ')).join('; ');
  return new LedgerError('damaged', `The ledger ${file} is damaged: ${what}.`, RECOVER);
}

function unknown(file: string): LedgerError {
  return new LedgerError(
    'unexpected',
    `The ledger ${file} could not be checked for damage: the checking process was killed or could not be started.`,
    'The machine may have run out of memory or processes. Free some, then check again with `leadsync check`.',
  );
}
