import { chmodSync, existsSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { makePrivateFile } from '../../platform/files/private-file.ts';
import { LedgerError } from '../contract/ledger-error.ts';
import { isBehindMark } from './high-water-mark.ts';
import { ledgerSize } from './inspect-file.ts';

/** Maximum wait for another process's write transaction, in ms. */
export const BUSY_MS = 5_000;

/** Maximum size that the write-ahead log keeps when it is not in use, in bytes. */
const MAX_LOG_BYTES = 16 * 1024 * 1024;

/**
 * Opens the file. If it is missing, creates it so that only its owner (see `makePrivateFile`) may read it and the files that SQLite creates beside
 * it, because these files contain personal data. Does not change the permissions of an existing file.
 */
export function connect(file: string): Database.Database {
  if (!existsSync(file)) makePrivateFile(file);
  return new Database(file, { timeout: BUSY_MS });
}

/** Checks that a ledger's file exists. @throws LedgerError if it does not, or if this user is not allowed to find out whether it does */
export function requireFile(file: string): void {
  if (ledgerSize(file) !== undefined) return;
  throw new LedgerError(
    'missing',
    `There is no ledger at ${file}.`,
    'Check data_dir; the first `leadsync run` or `leadsync sync` creates the ledger.',
  );
}

/**
 * Size of a connection's page cache, in KiB. The operating system caches the file, too, so a larger cache saves no time, but every process
 * and every thread would keep one: better-sqlite3's default is 16,000.
 */
const CACHE_KIB = 4_000;

/** Limits the memory that a connection keeps for pages of the ledger. */
export function limitCache(db: Database.Database): void {
  db.pragma(`cache_size = -${CACHE_KIB}`);
}

/** Configures a connection that writes. */
export function prepareFile(db: Database.Database): void {
  limitCache(db);
  db.pragma('journal_mode = WAL');
  // This build of SQLite defaults to NORMAL for WAL, which loses the last commits in a power failure.
  db.pragma('synchronous = FULL');
  // A long query makes the log grow. This limit truncates the log again after the query has ended.
  db.pragma(`journal_size_limit = ${MAX_LOG_BYTES}`);
  db.pragma('foreign_keys = ON');
  // Overwrites deleted content. Set on every connection, because a page that one connection frees may contain what another connection
  // erases later.
  db.pragma('secure_delete = ON');
}

/** Returns the device and inode number of a file, as one text; undefined if there is no such file. */
export function fileIdentity(file: string): string | undefined {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}

/**
 * Gives a new id to a ledger that was copied or restored from a backup, so that the ledger ignores the jobs that a queue still has for the
 * original. Call it only in the process that holds the data directory. Returns whether the ledger is a copy.
 */
export function renewIdOfCopy(db: Database.Database, at: Date): boolean {
  const stored = db.prepare<[], string | null>('SELECT file FROM _ledger').pluck().get();
  const { now, names } = namesOf(db.name);
  // A recovered ledger stores no file identity. It may lack the last polls, but is still the same ledger.
  const isOther = stored != null && stored !== now && !names.some((name) => name.test(stored));
  const isCopy = isOther || (stored != null && isBehindMark(db));
  if (stored === now && !isCopy) return false;
  db.transaction(() => {
    db.prepare('UPDATE _ledger SET file = ?').run(now);
    if (!isCopy) return;
    db.prepare('UPDATE _ledger SET id = lower(hex(randomblob(8))), restored_at = ?').run(at.getTime());
    // No process attempts batches of a copy, so the batches that were in flight in the original are due immediately, as the same batches.
    db.exec('UPDATE _batches SET lease = 0, holder = NULL, leased_until = 0');
  }).immediate();
  return isCopy;
}

/**
 * Returns the identity to store for a file: its inode number and birth time, or its inode and device numbers if the birth time is unknown.
 * Prefers the birth time because a volume may get another device number at each mount. Also returns patterns for identities of the same
 * file that may be stored in another form, for example by an earlier version.
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
 * Returns when a file was created, in ns. The inode number alone does not identify a file, because a file system reuses the number of a
 * removed file, often for the backup that replaces it. Undefined if the file system reports 0 or the time of the last change instead.
 */
function birthOf(file: string): bigint | undefined {
  try {
    chmodSync(file, statSync(file).mode); // so that the last change of a new file is later than its creation
  } catch {
    // Another user owns the file, so this process has not just created it.
  }
  const { birthtimeNs, ctimeNs } = statSync(file, { bigint: true });
  return birthtimeNs === 0n || birthtimeNs === ctimeNs ? undefined : birthtimeNs;
}

/** Maximum time that `scrub` waits for other connections, in ms. Other writers must wait for the same time. */
const SCRUB_MS = 50;

/**
 * Empties the write-ahead log, so that no overwritten content is left in it. Returns false if another connection reads an older state or
 * writes.
 */
export function scrub(db: Database.Database): boolean {
  db.pragma(`busy_timeout = ${SCRUB_MS}`);
  try {
    const [state] = db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
    return state.busy === 0;
  } finally {
    db.pragma(`busy_timeout = ${BUSY_MS}`);
  }
}
