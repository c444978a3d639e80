import type Database from 'better-sqlite3';
import { LedgerError } from '../contract/ledger-error.ts';
import type { Upgrade } from '../contract/ledger-upkeep.ts';
import { refreshComments, writeComments } from './comments.ts';
import { requireFinished } from './copy-marks.ts';
import { migrations } from './schema.ts';
import { addFunctions } from './sql-functions.ts';
import { copyBeforeUpgrade } from './upgrade-copy.ts';
import { publicViews } from './views.ts';

/** The application id in the header of a ledger (https://www.sqlite.org/pragma.html#pragma_application_id): `lead`. */
const APPLICATION_ID = 0x6c656164;

/**
 * Checks that a database is empty, or is a ledger that this version understands. Changes nothing.
 * @throws LedgerError if the file is not a ledger, or a newer leadsync wrote it
 */
export function recognise(db: Database.Database): void {
  // In one transaction, because another process may be creating the ledger.
  const { applied, isOther } = db.transaction(() => {
    const steps = schemaNumber(db);
    // Looks for tables only if there is no schema number, because the pages of the schema may be unreadable in a damaged ledger.
    return { applied: steps, isOther: steps === 0 ? hasTables(db) : !isMarked(db) };
  })();
  if (isOther) {
    throw new LedgerError(
      'foreign',
      `${db.name} is an SQLite database, but not a leadsync ledger.`,
      'Point data_dir at another folder, or move that file away.',
    );
  }
  if (applied > migrations.length) {
    throw new LedgerError(
      'newer',
      `The ledger ${db.name} was written by a newer leadsync (schema ${applied}; this version knows schema ${migrations.length}).`,
      'Install that newer leadsync, or restore a copy of the ledger from before the upgrade.',
    );
  }
}

function hasTables(db: Database.Database): boolean {
  return db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() !== 0;
}

function isMarked(db: Database.Database): boolean {
  return db.pragma('application_id', { simple: true }) === APPLICATION_ID;
}

/**
 * Checks that the ledger has this version's schema. Changes nothing, because a leadsync of another version may be using the ledger.
 * @throws LedgerError if the ledger has another schema, is empty or is an unfinished copy, or in the same cases as `recognise`
 */
export function requireCurrentSchema(db: Database.Database): void {
  recognise(db);
  const applied = schemaNumber(db);
  if (applied === migrations.length) {
    requireFinished(db);
    return;
  }
  if (applied === 0)
    throw new LedgerError(
      'missing',
      `The ledger ${db.name} is empty.`,
      'If it was not empty before, restore it from a backup. Otherwise `leadsync run` or `leadsync sync` fills it.',
    );
  throw new LedgerError(
    'older',
    `The ledger ${db.name} was written by an older leadsync (schema ${applied}; this version needs schema ${migrations.length}).`,
    'Only `leadsync run` and `leadsync sync` upgrade a ledger. Start one of them with this version, or use the older leadsync until then.',
  );
}

/**
 * Upgrades a ledger to this version's schema. Makes a copy first, then applies all missing migrations and recreates the views in one
 * transaction. Call it only in the process that holds the data directory. Returns undefined if the ledger is new or already has this schema.
 */
export function migrate(db: Database.Database): Upgrade | undefined {
  const from = schemaNumber(db);
  const to = migrations.length;
  if (from === to) {
    refreshComments(db);
    return undefined;
  }
  const copy = from > 0 ? copyBeforeUpgrade(db, to) : undefined;
  applyMigrations(db, to);
  return copy && { from, to, copy };
}

/**
 * Applies all missing migrations up to a schema number, in one transaction. After this version's last migration, also recreates the views.
 */
export function applyMigrations(db: Database.Database, to = migrations.length): void {
  addFunctions(db);
  db.transaction(() => {
    // Read the number again: another process may have applied the migrations while this one waited for the lock.
    const missing = migrations.slice(schemaNumber(db), to);
    for (const step of missing) db.exec(step);
    if (missing.length > 0 && to === migrations.length) {
      createViews(db);
      writeComments(db);
    }
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${to}`);
  }).immediate();
}

/** Returns the number of migrations that were applied to a ledger. */
export function schemaNumber(db: Database.Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}

/** Recreates the views, which contain no data, after migrations. */
function createViews(db: Database.Database): void {
  const views = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'view'").pluck().all() as string[];
  for (const view of views) db.exec(`DROP VIEW ${view}`);
  db.exec(publicViews);
}
