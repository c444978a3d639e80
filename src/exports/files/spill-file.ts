import { appendFileSync, closeSync, openSync, readSync, rmSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import type { Cell, Rows } from '../../ledger/contract/ledger-tables.ts';
import { inParts } from '../../ledger/rules/extraction/row-parts.ts';

/** The file contains personal data, so only this user may read it. */
const FILE_MODE = 0o600;

/** The name that Hive, DuckDB and Spark give to the partition of rows without a value. */
const NO_DAY = '__HIVE_DEFAULT_PARTITION__';

/** Serialized rows, grouped by day. Any thread can serialize them and transfer them to another thread. */
export interface Sorted {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Number of bytes for each day, in the order of `bytes`. */
  readonly days: readonly (readonly [day: string, length: number])[];
}

/** Position of bytes in a spill file. */
export interface Place {
  readonly start: number;
  readonly length: number;
}

/** Groups rows by the day (UTC) in a column. */
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

/**
 * Stores rows in a temporary file until all rows of their day are known. `close` removes the file. Throws the error from Node if the disk
 * fails.
 */
export class Spill {
  readonly path: string;
  /** Maps each day to the places of its rows, in the order of `put`. */
  readonly places = new Map<string, Place[]>();
  readonly #file: number;
  #end = 0;

  /** @param path path of the file, which must not exist */
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

/** Yields the rows at the given places of a spill file, in parts. */
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
