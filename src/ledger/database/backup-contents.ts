import Database from 'better-sqlite3';
import { toReadingError } from '../contract/ledger-error.ts';
import { recognise, schemaNumber } from '../schema/upgrading.ts';

/** Number of rows by table. */
export type RowCounts = Readonly<Record<string, number>>;

/** A file that a backup carries beside the ledger: its path in the data directory, and its content. */
export interface AttachedFile {
  readonly path: string;
  readonly content: Buffer;
}

/** What a copy of a ledger contains. */
export interface CopyContents {
  /** Number of the schema. */
  readonly schema: number;
  /** The id that the ledger had when it was copied. */
  readonly ledgerId: string;
  /** When the last poll of the ledger began; undefined if there was none. */
  readonly lastPollAt: Date | undefined;
  /** Names of the sources whose leads the ledger has. */
  readonly sources: readonly string[];
  readonly counts: RowCounts;
  /** Empty if the copy was not made by `leadsync backup`. */
  readonly attached: readonly AttachedFile[];
}

/** Tables whose rows are counted. A ledger of any schema has a subset of them. */
const COUNTED = ['_leads', '_versions', '_deliveries', '_attempts', 'polls', 'rejected_leads'];

/** Returns the number of rows of the ledger's main tables. */
export function rowCounts(db: Database.Database): RowCounts {
  const has = db.prepare<[string], number>("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
  const tables = COUNTED.filter((table) => has.get(table) !== undefined);
  return Object.fromEntries(
    tables.map((table) => [table, Number(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get())]),
  );
}

/** Adds files to a copy of a ledger, in a table of their own, and makes the copy a single file. Not for a ledger that is in use. */
export function attachFiles(copy: string, files: readonly AttachedFile[]): void {
  const db = new Database(copy, { fileMustExist: true });
  try {
    db.pragma('journal_mode = DELETE');
    db.exec('CREATE TABLE _backup (path TEXT PRIMARY KEY, content BLOB NOT NULL) STRICT');
    const insert = db.prepare('INSERT INTO _backup VALUES (?, ?)');
    db.transaction(() => {
      for (const { path, content } of files) insert.run(path, content);
    })();
  } finally {
    db.close();
  }
}

/** Reads what a copy of a ledger contains. Changes nothing. @throws LedgerError if the file is not a ledger, or a newer leadsync wrote it */
export function readCopy(copy: string): CopyContents {
  const db = new Database(copy, { readonly: true, fileMustExist: true });
  try {
    recognise(db);
    const last = db.prepare<[], string>('SELECT started_at FROM polls ORDER BY poll_id DESC LIMIT 1');
    const lastPollAt = last.pluck().get();
    return {
      schema: schemaNumber(db),
      ledgerId: String(db.prepare('SELECT id FROM _ledger').pluck().get()),
      lastPollAt: lastPollAt === undefined ? undefined : new Date(lastPollAt),
      sources: db.prepare<[], string>('SELECT source FROM _sources ORDER BY source').pluck().all(),
      counts: rowCounts(db),
      attached: hasAttached(db)
        ? db.prepare<[], AttachedFile>('SELECT path, content FROM _backup ORDER BY path').all()
        : [],
    };
  } catch (error) {
    throw toReadingError(error, copy);
  } finally {
    db.close();
  }
}

/**
 * Prepares a copy of a ledger to replace a ledger: removes the attached files, and records that the copy is not the original file, so that
 * `leadsync run` recognises a restored ledger on every file system.
 */
export function prepareToRestore(copy: string): void {
  const db = new Database(copy, { fileMustExist: true });
  try {
    db.pragma('journal_mode = DELETE');
    db.pragma('secure_delete = ON');
    const isIdentified = db.prepare("SELECT 1 FROM pragma_table_info('_ledger') WHERE name = 'file'").get();
    db.transaction(() => {
      db.exec('DROP TABLE IF EXISTS _backup');
      if (isIdentified) db.exec("UPDATE _ledger SET file = 'restored'");
    })();
  } finally {
    db.close();
  }
}

function hasAttached(db: Database.Database): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = '_backup'").get() !== undefined;
}
