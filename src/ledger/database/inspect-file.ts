import { fork } from 'node:child_process';
import { readFileSync, type Stats, statSync } from 'node:fs';
import { extname } from 'node:path';
import Database from 'better-sqlite3';
import { codeOf } from '../../platform/failures/error-code.ts';
import { replacedProgram } from '../../platform/process/replaced-program.ts';
import { LedgerError, RECOVER, toReadingError } from '../contract/ledger-error.ts';

/** Texts of SQLite may have several lines. */
const LINE_BREAKS = /\s*\n\s*/g;

/** Returns the size in bytes of a ledger's file, or undefined where there is none. @throws LedgerError when it is no file, or nobody may know */
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
      'Run this as the user that leadsync runs as, or let this user into data_dir.',
      error,
    );
  }
  if (found.isFile()) return found.size;
  throw new LedgerError(
    'foreign',
    `${file} is ${found.isDirectory() ? 'a folder' : 'a pipe or a device'}, and not a ledger.`,
    'Move it away. A container engine makes a folder where a file is missing that it has to mount: mount the folder data_dir.',
  );
}

/** To SQLite a file of 1 byte is an empty one. */
const EMPTY_BYTES = 1;
/** The page that SQLite writes into a new file before anything is committed, and in it the number of steps that made the schema. */
const FIRST_PAGE = { bytes: 4_096, schemaNumberAt: 60 };

/**
 * Whether a ledger holds nothing: its file is missing or empty, or has the first page alone while its log, which had all the rest, is
 * gone or cannot be read. @throws LedgerError when it is no file, or nobody may know
 */
export function isBlank(file: string): boolean {
  const size = ledgerSize(file) ?? 0;
  if (size <= EMPTY_BYTES) return true;
  return size === FIRST_PAGE.bytes && schemaNumberIn(file) === 0;
}

/** Returns how many steps made the schema. Where there is no log, SQLite would make one: a trace of a ledger that was never there. */
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

/** What the process that looks has found: faults in SQLite's words, or the code of the error that kept it from looking. */
export type InspectionResult = { readonly faults: readonly string[] } | { readonly code: string };

/**
 * Looks for damage in a ledger's file, in a process of its own, which ends with the signal and with this one: a large file takes minutes, and neither
 * polls nor deliveries wait for it. `whole` also compares each index with its table. Returns undefined when nothing was found, or
 * the signal ended it; what kept it from looking is an error with another code than `damaged`.
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
    `Whether the ledger ${file} is damaged could not be found out: the process that looks was ended, or could not be started.`,
    'The machine may have run out of memory or processes. Free some, and look again with `leadsync check`.',
  );
}
