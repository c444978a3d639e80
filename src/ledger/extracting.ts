import Database from 'better-sqlite3';
import { extractionOf } from '../store/extraction.ts';
import type { Relation } from '../store/relation.ts';
import { toLedgerError } from './ledger-error.ts';
import { requireFile } from './ledger-file.ts';
import type { Cell } from './reading.ts';
import { requireThisShape } from './schema.ts';

/** A part ends after so many rows, or so much text, in UTF-16 units: what is held of it in memory is bounded by both. */
const PART_ROWS = 4_000;
const PART_TEXT = 4_000_000;
/** How long a reading waits for somebody's lock, in ms. */
const BUSY_MS = 5_000;

/** Rows of a relation, each with its columns in the order in which they are described. */
export type Rows = readonly (readonly Cell[])[];

/**
 * Reads whole tables of a ledger in parts, by a connection that cannot write. Each part is a transaction of its own, so that
 * however long it all takes, the log beside the file can be cleared. @throws LedgerError
 */
export class LedgerExtract {
  readonly #db: Database.Database;
  readonly #file: string;

  constructor(file: string) {
    requireFile(file);
    this.#file = file;
    this.#db = open(file);
  }

  /**
   * The rows of a relation, part by part; with `since` those that came or changed from then on, where that can be told. What has
   * no order to go on by is read in one transaction.
   */
  *parts(relation: Relation, since: Date | undefined): Generator<Rows> {
    const order = extractionOf(relation.name).order.map((name) => columnAt(relation, name));
    try {
      if (order.length === 0) yield* inParts(this.#select(relation, since), order);
      else yield* this.#shortParts(relation, since, order);
    } catch (error) {
      throw toLedgerError(error, this.#file);
    }
  }

  close(): void {
    this.#db.close();
  }

  *#shortParts(relation: Relation, since: Date | undefined, order: readonly number[]): Generator<Rows> {
    let after: readonly Cell[] = [];
    for (;;) {
      const rows = firstOf(inParts(this.#select(relation, since, after), order));
      if (rows === undefined) return;
      yield rows;
      after = order.map((at) => rows.at(-1)?.[at] ?? null);
    }
  }

  #select(relation: Relation, since: Date | undefined, after: readonly Cell[] = []): Iterable<Cell[]> {
    const sql = selectOf(relation, since !== undefined, after.length > 0);
    const values = Object.fromEntries(after.map((cell, at) => [`after${at}`, cell]));
    return this.#db
      .prepare<[Record<string, Cell>], Cell[]>(sql)
      .safeIntegers()
      .raw()
      .iterate({ ...values, ...(since && { since: since.toISOString() }) });
  }
}

function open(file: string): Database.Database {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_MS });
    db.pragma('query_only = ON');
    requireThisShape(db);
    return db;
  } catch (error) {
    db?.close();
    throw toLedgerError(error, file);
  }
}

/** Rows that agree in their order stay together. */
function* inParts(found: Iterable<Cell[]>, order: readonly number[]): Generator<Rows> {
  let rows: Cell[][] = [];
  let text = 0;
  for (const row of found) {
    const enough = rows.length >= PART_ROWS || text >= PART_TEXT;
    if (enough && (order.length === 0 || order.some((at) => row[at] !== rows.at(-1)?.[at]))) {
      yield rows;
      [rows, text] = [[], 0];
    }
    rows.push(row);
    for (const cell of row) if (typeof cell === 'string') text += cell.length;
  }
  if (rows.length > 0) yield rows;
}

/** Ends the reading behind the first part, and with it the transaction. */
function firstOf(parts: Iterable<Rows>): Rows | undefined {
  for (const rows of parts) return rows;
  return undefined;
}

function selectOf({ name, columns }: Relation, since: boolean, continued: boolean): string {
  const { order, since: isNew } = extractionOf(name);
  const conditions = [
    ...(continued ? [`(${order.join(', ')}) > (${order.map((_, at) => `:after${at}`).join(', ')})`] : []),
    ...(since && isNew !== undefined ? [isNew] : []),
  ];
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  const sorted = order.length === 0 ? '' : ` ORDER BY ${order.join(', ')}`;
  return `SELECT ${columns.map((column) => `"${column.name}"`).join(', ')} FROM ${name}${where}${sorted}`;
}

function columnAt({ columns }: Relation, name: string): number {
  return columns.findIndex((column) => column.name === name);
}
