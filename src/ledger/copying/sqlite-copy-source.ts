import Database from 'better-sqlite3';
import type {
  CopiedRow,
  CopiedTable,
  CopySource,
  LedgerFacts,
  Moved,
  TableProgress,
} from '../contract/ledger-copy.ts';
import { toLedgerError } from '../contract/ledger-error.ts';
import { BUSY_MS, limitCache, requireFile } from '../database/ledger-file.ts';
import { COUNTED_TABLES } from '../rules/copying/copied-tables.ts';
import { inParts } from '../rules/extraction/row-parts.ts';
import { markMoved, movedTo } from '../schema/copy-marks.ts';
import { requireCurrentSchema } from '../schema/upgrading.ts';
import { copiedRows, digestOf } from './sqlite-rows.ts';

/** Opens the ledger in a file to copy it, in a process that holds its data directory. @throws LedgerError */
export function openSqliteSource(file: string): CopySource {
  requireFile(file);
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { timeout: BUSY_MS, fileMustExist: true });
    requireCurrentSchema(db);
    limitCache(db);
    return new SqliteCopySource(db);
  } catch (error) {
    db?.close();
    throw toLedgerError(error, file);
  }
}

/** Takes the mark away that the ledger in a file was moved. Returns whether it had the mark. @throws LedgerError */
export function liftMove(file: string): boolean {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { timeout: BUSY_MS, fileMustExist: true });
    return movedTo(db) !== undefined && markMoved(db, undefined);
  } catch (error) {
    throw toLedgerError(error, file);
  } finally {
    db?.close();
  }
}

class SqliteCopySource implements CopySource {
  readonly id: string;
  readonly isShared = false;
  readonly #db: Database.Database;

  constructor(db: Database.Database) {
    this.#db = db;
    this.id = String(db.prepare('SELECT id FROM _ledger').pluck().get());
  }

  async movedTo(): Promise<Moved | undefined> {
    return this.#guard(() => movedTo(this.#db));
  }

  async count({ inSqlite }: CopiedTable): Promise<number> {
    return this.#guard(() => Number(this.#db.prepare(`SELECT count(*) FROM ${inSqlite}`).pluck().get()));
  }

  async each(
    table: CopiedTable,
    after: TableProgress['after'],
    use: (rows: readonly CopiedRow[]) => Promise<void>,
  ): Promise<void> {
    const parts = inParts(copiedRows(this.#db, table, after));
    for (;;) {
      const { done, value } = this.#guard(() => parts.next());
      if (done) return;
      await use(value as readonly CopiedRow[]);
    }
  }

  async digest(table: CopiedTable) {
    return this.#guard(() => digestOf(this.#db, table));
  }

  async facts(): Promise<LedgerFacts> {
    return this.#guard(() => {
      const row = this.#db.prepare<[], FactsRow>(FACTS).safeIntegers().get() as FactsRow;
      const numbers = this.#db.prepare<[], [string, bigint]>(NUMBERS).safeIntegers().raw().all();
      const known = numbers.map(([name, last]): [string, bigint] => [
        name === 'polls' ? '_polls' : name,
        last,
      ]);
      return {
        ...row,
        id: this.id,
        numbers: new Map(known.filter(([name]) => COUNTED_TABLES.includes(name))),
        deliveredAt: new Map(),
      };
    });
  }

  async markMoved(moved: Moved): Promise<void> {
    this.#guard(() => markMoved(this.#db, moved));
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw toLedgerError(error, this.#db.name);
    }
  }
}

type FactsRow = Pick<LedgerFacts, 'clockAt' | 'restoredAt' | 'keyedWith' | 'keyedThrough'>;

const FACTS = `SELECT clock_at AS clockAt, restored_at AS restoredAt, keyed_with AS keyedWith, keyed_through AS keyedThrough FROM _ledger`;
const NUMBERS = 'SELECT name, seq FROM sqlite_sequence';
