import { join } from 'node:path';
import type { Rows } from '../ledger/extracting.ts';
import type { Cell } from '../ledger/reading.ts';
import type { Column } from '../store/relation.ts';
import type { Encoder, FileFormat } from './encoder.ts';

/** Takes bytes behind those that a file has; makes it, with its folders, when it is new. */
export type Append = (path: string, bytes: Buffer) => Promise<void>;

/** Rows that wait for more of their day before they are written. Few, for they may be a megabyte each. */
const WAITING_ROWS = 20_000;
const WAITING_TEXT = 16_000_000;

/** How Hive, DuckDB and Spark name the partition of what has none. */
const NO_DAY = '__HIVE_DEFAULT_PARTITION__';

interface Partition {
  readonly encoder: Encoder;
  waiting: (readonly Cell[])[];
  text: number;
}

/** The files of a table by the days of a time (UTC): `day=2026-11-20/leads.parquet`. Days may come in any order. */
export class Partitions {
  readonly #append: Append;
  readonly #columns: readonly Column[];
  readonly #format: FileFormat;
  readonly #path: (day: string) => string;
  readonly #at: number;
  readonly #days = new Map<string, Partition>();
  #rows = 0;
  #text = 0;

  constructor(
    folder: string,
    { name, columns, day }: { name: string; columns: readonly Column[]; day: string },
    format: FileFormat,
    append: Append,
  ) {
    this.#append = append;
    this.#columns = columns;
    this.#format = format;
    this.#path = (of) => join(folder, `day=${of}`, `${name}.${format.extension}`);
    this.#at = columns.findIndex((column) => column.name === day);
  }

  async add(rows: Rows): Promise<void> {
    for (const row of rows) {
      this.#keep(row);
      while (this.#rows > WAITING_ROWS || this.#text > WAITING_TEXT) await this.#writeLargest();
    }
  }

  async end(): Promise<void> {
    for (const [day, partition] of this.#days) {
      await this.#write(day, partition);
      await this.#append(this.#path(day), partition.encoder.end());
    }
  }

  #keep(row: readonly Cell[]): void {
    const day = dayOf(row[this.#at] ?? null);
    const partition = this.#days.get(day) ?? {
      encoder: this.#format.open(this.#columns),
      waiting: [],
      text: 0,
    };
    this.#days.set(day, partition);
    const text = row.reduce<number>((sum, cell) => sum + (typeof cell === 'string' ? cell.length : 0), 0);
    partition.waiting.push(row);
    partition.text += text;
    this.#rows += 1;
    this.#text += text;
  }

  async #writeLargest(): Promise<void> {
    const [day, partition] = [...this.#days].reduce((most, one) => (one[1].text > most[1].text ? one : most));
    await this.#write(day, partition);
  }

  async #write(day: string, partition: Partition): Promise<void> {
    const { waiting, text, encoder } = partition;
    if (waiting.length === 0) return;
    this.#rows -= waiting.length;
    this.#text -= text;
    partition.waiting = [];
    partition.text = 0;
    await this.#append(this.#path(day), encoder.add(this.#format.piece(this.#columns, waiting)));
  }
}

function dayOf(cell: Cell): string {
  const day = String(cell).slice(0, 10);
  return /^\d{4}-\d{2}-\d{2}$/.test(day) ? day : NO_DAY;
}
