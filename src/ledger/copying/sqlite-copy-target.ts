import type Database from 'better-sqlite3';
import { targetTakenError } from '../contract/copy-errors.ts';
import type {
  CopiedRow,
  CopiedTable,
  CopyTarget,
  LedgerFacts,
  TableProgress,
} from '../contract/ledger-copy.ts';
import { toLedgerError } from '../contract/ledger-error.ts';
import { isBlank } from '../database/inspect-file.ts';
import { connect, prepareFile } from '../database/ledger-file.ts';
import { removeLedger } from '../database/leftover-files.ts';
import { printProgress, readProgress } from '../rules/copying/progress.ts';
import { COPYING, isCopying } from '../schema/copy-marks.ts';
import { migrations } from '../schema/schema.ts';
import { applyMigrations, requireCurrentSchema, schemaNumber } from '../schema/upgrading.ts';
import { digestOf, storingRows } from './sqlite-rows.ts';

/**
 * Checks that a copy of the ledger `source` can be made in a file: there is none, or it has no leads, or it is an unfinished copy of the same ledger.
 * Changes nothing. Returns whether it is such a copy. @throws LedgerError
 */
export function inspectSqliteTarget(file: string, source: string): boolean {
  if (isBlank(file)) return false;
  const db = connect(file);
  try {
    if (isCopying(db)) {
      requireCopyOf(db, source);
      return true;
    }
    requireCurrentSchema(db);
    requireNoLeads(db);
    return false;
  } catch (error) {
    throw toLedgerError(error, file);
  } finally {
    db.close();
  }
}

/** Begins or continues a copy in a file for which `inspectSqliteTarget` has found no obstacle. @throws LedgerError */
export function openSqliteTarget(file: string, source: string): CopyTarget {
  const isContinued = inspectSqliteTarget(file, source);
  if (!isContinued) removeLedger(file);
  const db = connect(file);
  try {
    prepareFile(db);
    // A copy that a power failure sets back goes on from its last parts that are on disk.
    db.pragma('synchronous = NORMAL');
    db.pragma('foreign_keys = OFF');
    if (!isContinued) begin(db, source);
    return new SqliteCopyTarget(db, isContinued);
  } catch (error) {
    db.close();
    throw toLedgerError(error, file);
  }
}

/** Creates the tables and the mark in one transaction, so that no one finds an empty ledger without it. */
function begin(db: Database.Database, source: string): void {
  db.transaction(() => {
    db.exec(COPYING);
    db.prepare('INSERT INTO _copying VALUES (?, ?)').run('source', source);
    applyMigrations(db);
  }).immediate();
}

function requireCopyOf(db: Database.Database, source: string): void {
  const of = db.prepare("SELECT value FROM _copying WHERE name = 'source'").pluck().get();
  const hint = 'Move the file away, or remove it, then copy again.';
  if (of !== source)
    throw targetTakenError(db.name, 'is an unfinished copy of another ledger than this one', hint);
  if (schemaNumber(db) === migrations.length) return;
  throw targetTakenError(db.name, 'is an unfinished copy that another version of leadsync has begun', hint);
}

function requireNoLeads(db: Database.Database): void {
  if (db.prepare('SELECT 1 FROM _versions UNION ALL SELECT 1 FROM _leads LIMIT 1').get() === undefined)
    return;
  throw targetTakenError(
    db.name,
    'has leads of its own, which a copy would replace',
    'If they are not needed, move ledger.db, ledger.db-wal and ledger.db-shm to another folder, then copy again.',
  );
}

class SqliteCopyTarget implements CopyTarget {
  readonly isContinued: boolean;
  readonly #db: Database.Database;

  constructor(db: Database.Database, isContinued: boolean) {
    this.#db = db;
    this.isContinued = isContinued;
  }

  async progress({ name }: CopiedTable): Promise<TableProgress> {
    const get = this.#db.prepare<[string], string>('SELECT value FROM _copying WHERE name = ?').pluck();
    return this.#guard(() => readProgress(get.get(name)));
  }

  async add(
    table: CopiedTable,
    rows: readonly CopiedRow[],
    _: TableProgress,
    to: TableProgress,
  ): Promise<void> {
    const store = storingRows(this.#db, table);
    const record = this.#db.prepare('INSERT OR REPLACE INTO _copying VALUES (?, ?)');
    const work = this.#db.transaction(() => {
      for (const row of rows) store(row);
      record.run(table.name, printProgress(to));
    });
    this.#guard(() => work.immediate());
  }

  async digest(table: CopiedTable) {
    return this.#guard(() => digestOf(this.#db, table));
  }

  async finish(facts: LedgerFacts): Promise<void> {
    this.#guard(() => {
      this.#db.pragma('synchronous = FULL');
      this.#db.transaction(() => this.#complete(facts)).immediate();
      this.#db.pragma('wal_checkpoint(TRUNCATE)');
    });
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  /** The ledger gets an id of its own: mirrors would otherwise go on from numbers that may mean other rows here. */
  #complete({ clockAt, restoredAt, keyedWith, keyedThrough, numbers, deliveredAt }: LedgerFacts): void {
    const db = this.#db;
    db.prepare(LEDGER).run({ clockAt, restoredAt, keyedWith, keyedThrough });
    db.exec(COUNTS);
    for (const [sinkNo, at] of deliveredAt) db.prepare(DELIVERED).run({ sinkNo, at });
    const raise = db.prepare('UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?');
    const add = db.prepare('INSERT INTO sqlite_sequence (seq, name) VALUES (?, ?)');
    for (const [table, last] of numbers) {
      const name = table === '_polls' ? 'polls' : table;
      if (raise.run(last, name).changes === 0) add.run(last, name);
    }
    db.exec('DROP TABLE _copying');
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw toLedgerError(error, this.#db.name);
    }
  }
}

/** Without a file identity, the ledger does not count as restored. */
const LEDGER = `UPDATE _ledger SET file = NULL, clock_at = :clockAt, restored_at = :restoredAt, keyed_with = :keyedWith,
  keyed_through = min(:keyedThrough, (SELECT coalesce(max(version_no), 0) FROM _versions))`;

const count = (state: string) =>
  `${state} = (SELECT count(*) FROM _deliveries d WHERE d.sink_no = _sinks.sink_no AND d.state = '${state}')`;

// A server may have drawn numbers that no version has. Here the next version gets the next number, which must not count as owed.
const COUNTS = `UPDATE _sinks SET ${['pending', 'delivered', 'dead', 'skipped'].map(count).join(', ')},
  owed_through = min(owed_through, (SELECT coalesce(max(version_no), 0) FROM _versions)),
  backfill_to = min(backfill_to, (SELECT coalesce(max(version_no), 0) FROM _versions))`;

const DELIVERED = `UPDATE _sinks SET health = json_set(health, '$.lastDeliveredAt', :at)
  WHERE sink_no = :sinkNo AND coalesce(json_extract(health, '$.lastDeliveredAt'), 0) < :at`;
