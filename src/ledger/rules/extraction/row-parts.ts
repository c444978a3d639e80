import type { Rows } from '../../contract/ledger-tables.ts';

/**
 * A part ends when it reaches this number of cells or this number of UTF-16 units of text. Both limit memory. In Parquet, a part is a row
 * group, and small row groups are slow to read.
 */
const PART_CELLS = 80_000;
/** Maximum text of a part, in UTF-16 units, unless a single row is longer. */
const PART_TEXT = 4_000_000;

/** Yields rows in parts that fit in memory. Does not read ahead, because a single row may be as large as a part. */
export function* inParts(found: Iterable<Rows[number]>): Generator<Rows> {
  let part = new Part();
  for (const row of found) {
    part.add(row);
    if (!part.isFull) continue;
    yield part.rows;
    part = new Part();
  }
  if (part.rows.length > 0) yield part.rows;
}

/** Rows of a table that are in memory together. */
export class Part {
  readonly rows: Rows[number][] = [];
  #cells = 0;
  #text = 0;

  get isFull(): boolean {
    return this.#cells >= PART_CELLS || this.#text >= PART_TEXT;
  }

  add(row: Rows[number]): void {
    this.rows.push(row);
    this.#cells += row.length;
    this.#text += textIn(row);
  }
}

/** Returns the length of a row's text, in UTF-16 units. */
function textIn(row: Rows[number]): number {
  let text = 0;
  for (const cell of row) if (typeof cell === 'string') text += cell.length;
  return text;
}
