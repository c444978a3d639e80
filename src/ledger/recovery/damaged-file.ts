import Database from 'better-sqlite3';

/** A value as SQLite stores it; integers are bigints. */
export type StoredValue = string | number | bigint | Buffer | null;

/** A row of a damaged file, by the names of its columns. */
export type StoredRow = Readonly<Record<string, StoredValue>>;

/** What could be read of a table or an index. */
export interface Reading {
  /** How many row numbers, at most, stood on pages that cannot be read. */
  missed: bigint;
  /** Whether every page could be read. */
  complete: boolean;
}

const [FIRST, LAST] = [-(2n ** 63n), 2n ** 63n - 1n];
/** How many row numbers are tried one by one behind a row that cannot be read, before the steps grow. */
const SINGLE_STEPS = 4_096;

/**
 * Reads what is readable of a damaged SQLite file. Changes nothing in it. Errors that do not come from damage are thrown as SQLite
 * throws them.
 */
export class DamagedFile {
  readonly #db: Database.Database;

  /** @throws SQLite's error when not even the header can be read */
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

  /** The connection, to ask for what its header says. */
  get connection(): Database.Database {
    return this.#db;
  }

  /** Whether SQLite knows a table or an index of that name: it knows those before the first page of the schema that cannot be read. */
  has(name: string): boolean {
    const known = 'SELECT 1 FROM pragma_table_info(:name) UNION ALL SELECT 1 FROM pragma_index_info(:name)';
    return this.#db.prepare<[{ name: string }]>(known).get({ name }) !== undefined;
  }

  /** Yields the rows of a table in the order of their numbers, and notes in `reading` what it has to leave out. */
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

  /** Yields the rows of a query from both ends: from its beginning up to a page that cannot be read, then from its end. */
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
   * Returns the number at which reading from `next` failed: behind the last row, unless that row stood on a page that is in the place
   * of another one. Each later search begins behind it, so that no damage can make the search endless.
   */
  #failedAt(table: string, next: bigint, last: bigint): bigint | undefined {
    const behind = last < 0n ? 0n : last + 1n;
    if (behind > LAST) return undefined;
    return this.#isReadable(table)(behind) ? this.#find(table, next < 0n ? 0n : next, false) : behind;
  }

  /** Finds the first number, behind a number, from which a row can be read as a whole, or from which none can. */
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

/** Halves the stretch between a number that is not what is looked for and one that is. */
function earliest(without: bigint, found: bigint, isFound: (at: bigint) => boolean): bigint {
  let [bad, good] = [without, found];
  while (good - bad > 1n) {
    const middle = (bad + good) / 2n;
    if (isFound(middle)) good = middle;
    else bad = middle;
  }
  return good;
}

/** Lets a connection open a file that is shorter than its header says, or whose schema is partly wrong. */
export function tolerateDamage(db: Database.Database): void {
  db.unsafeMode();
  db.pragma('writable_schema = ON');
}

/** Errors of SQLite that a page with wrong content causes. A wrong length can ask for more memory than there is. */
const DAMAGE = /^SQLITE_(CORRUPT|NOTADB|TOOBIG|NOMEM|IOERR)/;

/** Whether SQLite failed because of what a page holds. */
export function isDamage(error: unknown): boolean {
  return DAMAGE.test(String((error as { code?: unknown }).code ?? ''));
}
