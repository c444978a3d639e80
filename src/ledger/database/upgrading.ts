import type Database from 'better-sqlite3';
import { LedgerError } from '../contract/ledger-error.ts';
import type { Upgrade } from '../contract/ledger-upkeep.ts';
import { refreshComments, writeComments } from './comments.ts';
import { migrations } from './schema.ts';
import { addFunctions } from './sql-functions.ts';
import { copyBeforeUpgrade } from './upgrade-copy.ts';
import { publicViews } from './views.ts';

/** Marks the file as a ledger in its header (https://www.sqlite.org/pragma.html#pragma_application_id): `lead`. */
const APPLICATION_ID = 0x6c656164;

/**
 * Makes sure that a database is a ledger that this version understands, or empty. Changes nothing.
 * @throws LedgerError when the file is not a ledger, or a newer leadsync wrote it
 */
export function recognise(db: Database.Database): void {
  // In one transaction: another process may be making the ledger at this moment.
  const { applied, isOther } = db.transaction(() => {
    const steps = schemaNumber(db);
    // The tables are counted only where that tells: of a damaged ledger the pages that name them may be lost.
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
      `The ledger ${db.name} was written by a newer leadsync (schema ${applied}; this one knows ${migrations.length}).`,
      'Install that newer leadsync, or restore the ledger from before the upgrade.',
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
 * Makes sure that the ledger has this version's schema. Changes nothing: a leadsync of another version may be running on it.
 * @throws LedgerError
 */
export function requireCurrentSchema(db: Database.Database): void {
  recognise(db);
  const applied = schemaNumber(db);
  if (applied === migrations.length) return;
  if (applied === 0)
    throw new LedgerError(
      'missing',
      `The ledger ${db.name} is empty.`,
      'If it was not before, restore it from a backup. Otherwise `leadsync run` or `leadsync sync` fills it.',
    );
  throw new LedgerError(
    'older',
    `The ledger ${db.name} was written by an older leadsync (schema ${applied}; this one needs ${migrations.length}).`,
    'Only `leadsync run` and `leadsync sync` upgrade a ledger. Start one of them in this version; until then use the older leadsync.',
  );
}

/**
 * Upgrades a ledger to this version's schema: all missing steps and the views, in one transaction, after a copy was made.
 * Only for the process that holds the data directory. Returns undefined if there was nothing to upgrade.
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

/** Takes all missing steps up to a schema, in one transaction; with the last one come the views. */
export function applyMigrations(db: Database.Database, to = migrations.length): void {
  addFunctions(db);
  db.transaction(() => {
    // Read once more: another process may have taken the same steps while this one waited for it.
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

/** Returns how many steps made a ledger's schema. */
export function schemaNumber(db: Database.Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}

/** Views hold no data, so they are made anew whenever a migration has run. */
function createViews(db: Database.Database): void {
  const views = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'view'").pluck().all() as string[];
  for (const view of views) db.exec(`DROP VIEW ${view}`);
  db.exec(publicViews);
}
