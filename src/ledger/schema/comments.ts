import Database from 'better-sqlite3';
import { relations } from '../../catalog/catalog.ts';
import { commentOf } from '../../catalog/relation.ts';

/** The comments on every public table, view and column, as rows of `_comments`. */
const COMMENTS = relations.flatMap((relation) => [
  [relation.name, null, commentOf(relation)],
  ...relation.columns.map(({ name, means }) => [relation.name, name, means]),
]);

/** Replaces all comments in the ledger. */
export function writeComments(db: Database.Database): void {
  db.exec('DELETE FROM _comments');
  const add = db.prepare('INSERT INTO _comments VALUES (?, ?, ?)');
  for (const comment of COMMENTS) add.run(comment);
}

/**
 * Replaces the comments in the ledger if they differ from those of this version, which may change without a migration. Ignores SQLite's
 * errors, because outdated comments must not prevent a ledger from opening.
 */
export function refreshComments(db: Database.Database): void {
  try {
    const written = db
      .prepare('SELECT relation, "column", comment FROM _comments ORDER BY rowid')
      .raw()
      .all();
    if (JSON.stringify(written) !== JSON.stringify(COMMENTS))
      db.transaction(() => writeComments(db)).immediate();
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
  }
}
