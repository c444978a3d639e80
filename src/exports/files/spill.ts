import { appendFileSync, closeSync, openSync, readSync, rmSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import { inParts, type Rows } from '../../ledger/extraction/extracting.ts';
import type { Cell } from '../../ledger/extraction/run-sql.ts';

/** Personal data: for this user alone. */
const FILE_MODE = 0o600;

/** How Hive, DuckDB and Spark name the partition of what has none. */
const NO_DAY = '__HIVE_DEFAULT_PARTITION__';

/** Rows in bytes, those of a day together. Can be made on any thread, and handed over. */
export interface Sorted {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** How many of the bytes are each day's, in their order. */
  readonly days: readonly (readonly [day: string, length: number])[];
}

/** Where bytes of a day lie in a spill's file. */
export interface Place {
  readonly start: number;
  readonly length: number;
}

/** Sorts rows by the day (UTC) of the time in a column. */
export function sortedByDay(rows: Rows, at: number): Sorted {
  const parts = Map.groupBy(rows, (row) => dayOf(row[at] ?? null))
    .entries()
    .map(([day, ofDay]) => [day, serialize(ofDay)] as const)
    .toArray();
  const bytes = new Uint8Array(parts.reduce((sum, [, part]) => sum + part.length, 0));
  let end = 0;
  for (const [, part] of parts) {
    bytes.set(part, end);
    end += part.length;
  }
  return { bytes, days: parts.map(([day, part]) => [day, part.length]) };
}

/** Rows that wait on the disk for the others of their day. The file is gone with `close`. Throws Node's error of the disk. */
export class Spill {
  readonly path: string;
  /** Each day, and where its rows are, in the order in which they were put. */
  readonly places = new Map<string, Place[]>();
  readonly #file: number;
  #end = 0;

  /** @param path of a file that is not there */
  constructor(path: string) {
    this.path = path;
    this.#file = openSync(path, 'ax', FILE_MODE);
  }

  put({ bytes, days }: Sorted): void {
    appendFileSync(this.#file, bytes);
    for (const [day, length] of days) {
      const places = this.places.get(day) ?? [];
      places.push({ start: this.#end, length });
      this.places.set(day, places);
      this.#end += length;
    }
  }

  close(): void {
    closeSync(this.#file);
    rmSync(this.path, { force: true });
  }
}

/** The rows at some places of a spill's file, in parts. */
export function spilledParts(path: string, places: readonly Place[]): Generator<Rows> {
  return inParts(spilledRows(path, places));
}

function* spilledRows(path: string, places: readonly Place[]): Generator<Rows[number]> {
  const file = openSync(path, 'r');
  try {
    for (const { start, length } of places) {
      const bytes = Buffer.allocUnsafeSlow(length);
      readSync(file, bytes, 0, length, start);
      yield* deserialize(bytes) as Rows;
    }
  } finally {
    closeSync(file);
  }
}

function dayOf(cell: Cell): string {
  const day = String(cell).slice(0, 10);
  return /^\d{4}-\d{2}-\d{2}$/.test(day) ? day : NO_DAY;
}
