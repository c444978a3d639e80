import { type Cell, QueryRefused, type QueryResult } from '../../ledger/contract/ledger-tables.ts';
import { csvLine } from '../../platform/text/csv-line.ts';
import { printable } from '../../platform/text/printable.ts';
import { table } from '../shell/table.ts';

/** The formats of a query's result. `table` is for people, and needs all rows to compute the column widths. */
export const FORMATS = ['table', 'csv', 'jsonl'] as const;
/** A value of `leadsync query --format`. */
export type Format = (typeof FORMATS)[number];

/** How to write a result, and how much of it. Sent to the query process, so it holds no functions. */
export interface OutputOptions {
  readonly format: Format;
  /** Maximum rows. */
  readonly limit: number;
  /** Maximum width of a `table`, in characters; undefined if unlimited. */
  readonly room: number | undefined;
  /** Whether the output is a terminal. Then `csv` escapes control characters, as the other formats always do. */
  readonly terminal: boolean;
}

/** How much of a result was written. */
export interface Written {
  readonly rows: number;
  /** Whether the result has more rows. */
  readonly more: boolean;
}

/** Writes text. Returns false if the reader closed the output. */
export type Write = (text: string) => boolean | Promise<boolean>;

const FLUSH_CHARACTERS = 64 * 1024;

/** Writes a result. Returns undefined if the reader closed the output. @throws QueryRefused, or an error from reading the rows */
export async function writeAnswer(
  { columns, rows }: QueryResult,
  options: OutputOptions,
  write: Write,
): Promise<Written | undefined> {
  let [waiting, written, more] = ['', 0, false];
  const writer = writers[options.format](columns, options, (text) => {
    waiting += text;
  });
  const flush = () => {
    const text = waiting;
    waiting = '';
    return text === '' || write(text);
  };
  for await (const row of rows) {
    more = written === options.limit;
    if (more) break;
    writer.row(row);
    written += 1;
    if (waiting.length > FLUSH_CHARACTERS && !(await flush())) return undefined;
  }
  writer.end();
  return (await flush()) ? { rows: written, more } : undefined;
}

interface Writer {
  row(row: readonly Cell[]): void;
  end(): void;
}

type OpenWriter = (
  columns: readonly string[],
  options: OutputOptions,
  write: (text: string) => void,
) => Writer;

const writers: Readonly<Record<Format, OpenWriter>> = {
  table: (columns, { room }, write) => {
    const rows: (readonly Cell[])[] = [];
    return {
      row: (row) => void rows.push(row),
      end: () => {
        const heads = columns.map((name, at) => ({
          head: printable(name),
          ...(isNumeric(rows, at) ? { align: 'right' as const } : {}),
        }));
        const cells = rows.map((row) => row.map((cell) => printable(plain(cell))));
        if (heads.length > 0) write(table(heads, cells, room));
      },
    };
  },
  csv: (columns, { terminal }, write) => {
    const shown = (text: string) => (terminal ? printable(text) : text);
    write(csvLine(columns.map(shown)));
    return {
      row: (row) => write(csvLine(row.map((cell) => (cell === null ? null : shown(plain(cell)))))),
      end: () => undefined,
    };
  },
  jsonl: (columns, _, write) => {
    requireDistinct(columns);
    const keys = columns.map((name) => `${JSON.stringify(name)}:`);
    return {
      row: (row) => write(`{${printable(row.map((cell, at) => `${keys[at]}${json(cell)}`).join(','))}}\n`),
      end: () => undefined,
    };
  },
};

function isNumeric(rows: readonly (readonly Cell[])[], at: number): boolean {
  const values = rows.map((row) => row[at] ?? null).filter((cell) => cell !== null);
  return values.length > 0 && values.every((cell) => typeof cell === 'bigint' || typeof cell === 'number');
}

/** Returns a cell as text: null as an empty string, bytes in hexadecimal. */
function plain(cell: Cell): string {
  if (cell === null) return '';
  return Buffer.isBuffer(cell) ? cell.toString('hex') : String(cell);
}

/** @throws QueryRefused if two columns have the same name, because JSON parsers keep only one value of a repeated key */
function requireDistinct(columns: readonly string[]): void {
  const twice = columns.find((name, at) => columns.indexOf(name) !== at);
  if (twice !== undefined)
    throw new QueryRefused(
      `Two columns are named "${printable(twice)}", and a JSON object holds one value per name. Rename one with AS, or use --format csv.`,
    );
}

/** Returns a cell as JSON. Integers keep every digit. */
function json(cell: Cell): string {
  if (typeof cell === 'bigint') return String(cell);
  if (typeof cell === 'number') return Number.isFinite(cell) ? String(cell) : 'null';
  return JSON.stringify(cell === null || typeof cell === 'string' ? cell : cell.toString('hex'));
}
