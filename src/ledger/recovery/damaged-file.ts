import Database from 'better-sqlite3';

/** A value from SQLite. Integers are bigint. */
export type StoredValue = string | number | bigint | Buffer | null;

/** A row of a damaged file, by column name. */
export type StoredRow = Readonly<Record<string, StoredValue>>;

/** How much of a table or an index could be read. */
export interface Reading {
  /** The largest possible number of rows on the unreadable pages. */
  missed: bigint;
  /** Whether every page could be read. */
  complete: boolean;
}

const [FIRST, LAST] = [-(2n ** 63n), 2n ** 63n - 1n];
/** Number of row numbers that are tried one by one after an unreadable row, before the steps grow. */
const SINGLE_STEPS = 4_096;

/** Reads the readable parts of a damaged SQLite file. Does not change the file. Throws SQLite's errors that are not caused by damage. */
export class DamagedFile {
  readonly #db: Database.Database;

  /** Opens the file. @throws SqliteError if not even the header can be read */
  constructor(file: string) {
    this.#db = new Database(file, { readonly: true, fileMustExist: true });
    try {
      tolerateDamage(this.#db);
      this.#db.pragma('cell_size_check = ON');
      this.#db.pragma('user_version');
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  close(): void {
    this.#db.close();
  }

  /** The connection, from which callers read the file's header. */
  get connection(): Database.Database {
    return this.#db;
  }

  /**
   * Whether SQLite knows a table or an index with that name. SQLite knows those that the schema describes before its first unreadable page.
   */
  has(name: string): boolean {
    const known = 'SELECT 1 FROM pragma_table_info(:name) UNION ALL SELECT 1 FROM pragma_index_info(:name)';
    return this.#db.prepare<[{ name: string }]>(known).get({ name }) !== undefined;
  }

  /** Yields the readable rows of a table in the order of their numbers. Records in `reading` how much it had to skip. */
  *rows(table: string, reading: Reading): Generator<StoredRow> {
    const from = this.#db
      .prepare<[bigint], StoredRow & { no: bigint }>(
        `SELECT rowid AS no, * FROM ${table} NOT INDEXED WHERE rowid >= ? ORDER BY rowid`,
      )
      .safeIntegers();
    let next: bigint | undefined = FIRST;
    while (next !== undefined) {
      let last: bigint = next - 1n;
      try {
        for (const row of from.iterate(next)) {
          if (row.no > last) last = row.no;
          yield row;
        }
        return;
      } catch (error) {
        if (!isDamage(error)) throw error;
        reading.complete = false;
        const failed = this.#failedAt(table, next, last);
        next = failed === undefined ? undefined : this.#find(table, failed, true);
        reading.missed += failed === undefined || next === undefined ? 1n : next - failed;
      }
    }
  }

  /**
   * Yields the rows of a query from the beginning up to an unreadable page. After such a page, also yields the rows from the end backwards.
   */
  *entries(query: string, order: readonly string[], reading: Reading): Generator<StoredRow> {
    for (const direction of ['ASC', 'DESC']) {
      const by = order.map((column) => `${column} ${direction}`).join(', ');
      try {
        yield* this.#db.prepare<[], StoredRow>(`${query} ORDER BY ${by}`).safeIntegers().iterate();
        return;
      } catch (error) {
        if (!isDamage(error)) throw error;
        reading.complete = false;
      }
    }
  }

  /**
   * Returns the row number at which reading from `next` failed. This is the number after the last row that was read, unless that row came
   * from a page that the damage put in place of another page. Each later search starts after the returned number, so that no damage can
   * make the search endless.
   */
  #failedAt(table: string, next: bigint, last: bigint): bigint | undefined {
    const behind = last < 0n ? 0n : last + 1n;
    if (behind > LAST) return undefined;
    return this.#isReadable(table)(behind) ? this.#find(table, next < 0n ? 0n : next, false) : behind;
  }

  /** Finds the first number after `start` from which reading succeeds or, if `readable` is false, fails. Undefined if there is none. */
  #find(table: string, start: bigint, readable: boolean): bigint | undefined {
    const isReadable = this.#isReadable(table);
    const isFound = (at: bigint) => isReadable(at) === readable;
    let step = 1n;
    for (let tried = 1, at = start; ; tried += 1) {
      const before = at;
      at += step;
      if (at > LAST) return undefined;
      if (isFound(at)) return step === 1n ? at : earliest(before, at, isFound);
      if (tried >= SINGLE_STEPS) step *= 2n;
    }
  }

  #isReadable(table: string): (from: bigint) => boolean {
    const statement = this.#db
      .prepare<[bigint]>(`SELECT * FROM ${table} NOT INDEXED WHERE rowid >= ? ORDER BY rowid LIMIT 1`)
      .safeIntegers();
    return (from) => {
      try {
        statement.get(from);
        return true;
      } catch (error) {
        if (isDamage(error)) return false;
        throw error;
      }
    };
  }
}

/** Finds the smallest matching number by binary search between a number that does not match and a number that matches. */
function earliest(without: bigint, found: bigint, isFound: (at: bigint) => boolean): bigint {
  let [bad, good] = [without, found];
  while (good - bad > 1n) {
    const middle = (bad + good) / 2n;
    if (isFound(middle)) good = middle;
    else bad = middle;
  }
  return good;
}

/** Lets a connection read a file that is shorter than its header says, or that has a partly wrong schema. */
export function tolerateDamage(db: Database.Database): void {
  db.unsafeMode();
  db.pragma('writable_schema = ON');
}

/**
 * SQLite's error codes for pages with wrong content. They include NOMEM, because a wrong length may request more memory than the machine
 * has.
 */
const DAMAGE = /^SQLITE_(CORRUPT|NOTADB|TOOBIG|NOMEM|IOERR)/;

/** Whether SQLite failed because of the content of a page. */
export function isDamage(error: unknown): boolean {
  return DAMAGE.test(String((error as { code?: unknown }).code ?? ''));
}
