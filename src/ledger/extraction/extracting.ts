import Database from 'better-sqlite3';
import { extractionOf, sinceOn } from '../../catalog/extraction.ts';
import type { Relation } from '../../catalog/relation.ts';
import { toReadingError } from '../contract/ledger-error.ts';
import type { Cell, LedgerTables, Rows, Stretch, TablesPlace } from '../contract/ledger-tables.ts';
import { requireFile } from '../database/ledger-file.ts';
import { type ClockStep, reachedBackBy } from '../rules/extraction/clock-steps.ts';
import { inParts, Part } from '../rules/extraction/row-parts.ts';
import { requireCurrentSchema } from '../schema/upgrading.ts';
import { leadRows } from '../schema/views.ts';
import { completing } from './complete-lead-rows.ts';

/**
 * The length of a stretch: in rows for relations with JSON, in cells for others. It is about the length of a part, because each thread
 * reads one stretch.
 */
const [LARGE_ROWS, STRETCH_CELLS] = [2_000, 40_000];
/** Maximum wait for a lock of another process, in ms. */
const BUSY_MS = 5_000;

/** The steps by which the clock was set back, latest first. */
const CLOCK_STEPS = 'SELECT from_at, to_at FROM _clock_set_back ORDER BY from_at DESC';

/** The view `leads`, and the view that has a subset of its columns. */
const LIKE_LEADS: readonly string[] = ['leads', 'v_leads'];

const WHOLE: Stretch = { after: [], through: [] };

/**
 * Reads whole tables of a ledger in parts, over a read-only connection. Each part has its own transaction, so that a long extraction does
 * not hold up the checkpoint of the write-ahead log.
 * @throws LedgerError
 */
export class LedgerExtract implements LedgerTables {
  readonly shared: TablesPlace;
  readonly #db: Database.Database;
  readonly #file: string;

  constructor(file: string) {
    requireFile(file);
    this.shared = { kind: 'file', file };
    this.#file = file;
    this.#db = open(file);
  }

  /** Reads a relation without an order in one transaction. */
  async *parts(relation: Relation, since: Date | undefined, stretch = WHOLE): AsyncGenerator<Rows> {
    const { order } = extractionOf(relation.name);
    try {
      if (order.length === 0) yield* inParts(this.#select(relation, since, stretch));
      else yield* this.#shortParts(relation, since, stretch);
    } catch (error) {
      throw toReadingError(error, this.#file);
    }
  }

  async *stretches(relation: Relation, since: Date | undefined): AsyncGenerator<Stretch> {
    let after: readonly Cell[] = [];
    try {
      for (;;) {
        const through = this.#keyAhead(relation, since, after);
        yield { after, through };
        if (through.length === 0) return;
        after = through;
      }
    } catch (error) {
      throw toReadingError(error, this.#file);
    }
  }

  async reachedBack(since: Date): Promise<Date> {
    try {
      return reachedBackBy(this.#db.prepare<[], ClockStep>(CLOCK_STEPS).all(), since);
    } catch (error) {
      throw toReadingError(error, this.#file);
    }
  }

  async serverNow(): Promise<undefined> {}

  async origin(): Promise<{ ledger: string; schema: number }> {
    const schema = Number(this.#db.pragma('user_version', { simple: true }));
    return { ledger: String(this.#db.prepare('SELECT id FROM _ledger').pluck().get()), schema };
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  *#shortParts(
    relation: Relation,
    since: Date | undefined,
    { after: start, through }: Stretch,
  ): Generator<Rows> {
    const { order: names, ties } = extractionOf(relation.name);
    const order = names.map((name) => columnAt(relation, name));
    let after = start;
    for (;;) {
      const found = this.#select(relation, since, { after, through });
      const rows = firstOf(ties ? inPartsWithTies(found, order) : inParts(found));
      if (rows === undefined) return;
      yield rows;
      after = order.map((at) => rows.at(-1)?.[at] ?? null);
    }
  }

  #select(relation: Relation, since: Date | undefined, stretch: Stretch): Iterable<Cell[]> {
    if (LIKE_LEADS.includes(relation.name) && since === undefined) return this.#leads(relation, stretch);
    return this.#iterate(
      selectOf(relation.name, namesOf(relation), since !== undefined, stretch),
      since,
      stretch,
    );
  }

  /** Yields rows of leads. If a row cannot be completed here, reads it from the view, in the same transaction. */
  *#leads(relation: Relation, stretch: Stretch): Generator<Cell[]> {
    const { name, columns } = relation;
    const names = namesOf(relation);
    const ofView = this.#db
      .prepare<[Cell, Cell], Cell[]>(`${wantedOf(name, names)} WHERE source = ? AND id = ?`)
      .safeIntegers()
      .raw();
    const complete = completing(columns);
    const [source, id] = [columnAt(relation, 'source'), columnAt(relation, 'id')];
    const sql = selectOf(name, names, false, stretch, `(${leadRows}) AS ${name}`);
    for (const row of this.#iterate(sql, undefined, stretch))
      yield complete(row) ? row : (ofView.get(row[source] as Cell, row[id] as Cell) as Cell[]);
  }

  #keyAhead({ name, columns }: Relation, since: Date | undefined, after: readonly Cell[]): readonly Cell[] {
    const { order } = extractionOf(name);
    if (order.length === 0) return [];
    const stretch = { after, through: [] };
    const rows = columns.some(({ type }) => type === 'json' || type === 'jsonb')
      ? LARGE_ROWS
      : Math.floor(STRETCH_CELLS / columns.length);
    const sql = `${selectOf(name, order, since !== undefined, stretch)} LIMIT 1 OFFSET ${rows - 1}`;
    return firstOf(this.#iterate(sql, since, stretch)) ?? [];
  }

  #iterate(sql: string, since: Date | undefined, { after, through }: Stretch): Iterable<Cell[]> {
    const values = [
      ...after.map((cell, at) => [`after${at}`, cell]),
      ...through.map((cell, at) => [`through${at}`, cell]),
      ...(since
        ? [
            ['since', since.toISOString()],
            ['sinceMs', since.getTime()],
          ]
        : []),
    ];
    return this.#db
      .prepare<[Record<string, Cell>], Cell[]>(sql)
      .safeIntegers()
      .raw()
      .iterate(Object.fromEntries(values));
  }
}

function open(file: string): Database.Database {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_MS });
    db.pragma('query_only = ON');
    db.pragma('cache_size = -2000'); // 2 MB is enough, because a sequential scan reads each page once
    requireCurrentSchema(db);
    return db;
  } catch (error) {
    db?.close();
    throw toReadingError(error, file);
  }
}

/** Like `inParts`, but keeps rows with equal keys in the same part. */
function* inPartsWithTies(found: Iterable<Rows[number]>, order: readonly number[]): Generator<Rows> {
  let part = new Part();
  for (const row of found) {
    if (part.isFull && order.some((at) => row[at] !== part.rows.at(-1)?.[at])) {
      yield part.rows;
      part = new Part();
    }
    part.add(row);
  }
  if (part.rows.length > 0) yield part.rows;
}

/** Returns the first item, and ends the iteration, which ends the transaction. */
function firstOf<T>(found: Iterable<T>): T | undefined {
  for (const one of found) return one;
  return undefined;
}

function selectOf(
  name: string,
  columns: readonly string[],
  since: boolean,
  { after, through }: Stretch,
  from = name,
): string {
  const extraction = extractionOf(name);
  const { order } = extraction;
  const isNew = since ? sinceOn('sqlite', extraction) : undefined;
  const key = `(${order.join(', ')})`;
  const named = (prefix: string) => `(${order.map((_, at) => `:${prefix}${at}`).join(', ')})`;
  const conditions = [
    ...(after.length > 0 ? [`${key} > ${named('after')}`] : []),
    ...(through.length > 0 ? [`${key} <= ${named('through')}`] : []),
    ...(isNew === undefined ? [] : [isNew]),
  ];
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  const sorted = order.length === 0 ? '' : ` ORDER BY ${order.join(', ')}`;
  return `${wantedOf(from, columns)}${where}${sorted}`;
}

function wantedOf(from: string, columns: readonly string[]): string {
  return `SELECT ${columns.map((column) => `"${column}"`).join(', ')} FROM ${from}`;
}

function namesOf({ columns }: Relation): string[] {
  return columns.map(({ name }) => name);
}

function columnAt({ columns }: Relation, name: string): number {
  return columns.findIndex((column) => column.name === name);
}
