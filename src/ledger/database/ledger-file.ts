import { chmodSync, existsSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { makePrivateFile } from '../../platform/files/private-file.ts';
import { LedgerError } from '../contract/ledger-error.ts';
import { ledgerSize } from './inspect-file.ts';
import { isBehindMark } from './progress-mark.ts';

/** How long a write waits for another process's transaction, in ms. */
export const BUSY_MS = 5_000;

/** The log beside the file keeps at most so much disk once it is of no more use. */
const LOG_KEPT_BYTES = 16 * 1024 * 1024;

/** The file, and with it those that SQLite puts beside it, is for this user alone: it holds personal data. */
export function connect(file: string): Database.Database {
  if (!existsSync(file)) makePrivateFile(file);
  return new Database(file, { timeout: BUSY_MS });
}

/** @throws LedgerError when there is no such file, or nobody may know */
export function requireFile(file: string): void {
  if (ledgerSize(file) !== undefined) return;
  throw new LedgerError(
    'missing',
    `There is no ledger at ${file}.`,
    'Check data_dir; the ledger is made by the first `leadsync run` or `leadsync sync`.',
  );
}

/** How every connection works on the file. */
export function prepareFile(db: Database.Database): void {
  db.pragma('journal_mode = WAL');
  // This build leaves WAL at NORMAL, which forgets the last commits when the power fails.
  db.pragma('synchronous = FULL');
  // What a long query of somebody else made the log grow to is given back to the disk when that query has ended.
  db.pragma(`journal_size_limit = ${LOG_KEPT_BYTES}`);
  db.pragma('foreign_keys = ON');
  // What is erased is overwritten. Every connection does so: a page that one of them frees may hold what another erases later.
  db.pragma('secure_delete = ON');
}

/** Tells a file from every other on this machine; undefined when there is none. */
export function fileIdentity(file: string): string | undefined {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}

/**
 * Gives a ledger that was copied, or restored from a backup, another id: what a queue still holds for the original is not meant
 * for it. Only for the process that holds the data directory. Returns whether it is a copy.
 */
export function renameCopy(db: Database.Database, at: Date): boolean {
  const noted = db.prepare<[], string | null>('SELECT file FROM _ledger').pluck().get();
  const { now, names } = namesOf(db.name);
  // A recovered ledger notes no file: it may lack the last polls, and is the same ledger all the same.
  const isOther = noted != null && noted !== now && !names.some((name) => name.test(noted));
  const isCopy = isOther || (noted != null && isBehindMark(db));
  if (noted === now && !isCopy) return false;
  db.transaction(() => {
    db.prepare('UPDATE _ledger SET file = ?').run(now);
    if (!isCopy) return;
    db.prepare('UPDATE _ledger SET id = lower(hex(randomblob(8))), restored_at = ?').run(at.getTime());
    // Nobody attempts anything of a copy: what was on its way when it was made is due at once, as the same batches.
    db.exec('UPDATE _batches SET lease = 0, holder = NULL, leased_until = 0');
  }).immediate();
  return isCopy;
}

/**
 * How a file is noted: by its number and when it was made, since a volume may get another device number each time that it is mounted;
 * by number and device where that is not known. And all that may have been noted of it, by earlier versions as well.
 */
function namesOf(file: string): { readonly now: string; readonly names: readonly RegExp[] } {
  const { dev, ino } = statSync(file, { bigint: true });
  const born = birthOf(file);
  if (born === undefined)
    return { now: `${dev}:${ino}`, names: [new RegExp(`^${dev}:${ino}(:|$)`), new RegExp(`^${ino}@`)] };
  return {
    now: `${ino}@${born}`,
    names: [new RegExp(`^${dev}:${ino}$`), new RegExp(`^\\d+:${ino}:${born}$`)],
  };
}

/**
 * When a file was made: the number of one that was removed is given to the next, often to the very backup that takes its place.
 * Undefined where that is not known: there the time of the last change stands for it, or 0.
 */
function birthOf(file: string): bigint | undefined {
  try {
    chmodSync(file, statSync(file).mode); // so that the last change of one that is new is not its making
  } catch {
    // It is somebody else's, and has been there for longer.
  }
  const { birthtimeNs, ctimeNs } = statSync(file, { bigint: true });
  return birthtimeNs === 0n || birthtimeNs === ctimeNs ? undefined : birthtimeNs;
}

/** How long a scrub waits for readers, in ms: as long, others who write wait too. */
const SCRUB_MS = 50;

/** Empties the log into the file, so that nothing of what was overwritten is left. False when somebody still reads an older state. */
export function scrub(db: Database.Database): boolean {
  db.pragma(`busy_timeout = ${SCRUB_MS}`);
  try {
    const [state] = db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
    return state.busy === 0;
  } finally {
    db.pragma(`busy_timeout = ${BUSY_MS}`);
  }
}
