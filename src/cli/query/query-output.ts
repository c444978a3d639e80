import { type Cell, QueryRefused, type QueryResult } from '../../ledger/extraction/run-sql.ts';
import { csvLine } from '../../platform/text/csv-line.ts';
import { printable } from '../../platform/text/printable.ts';
import { table } from '../shell/table.ts';

/** How an answer is written. `table` is for people: it waits for all rows, to know how wide columns are. */
export const FORMATS = ['table', 'csv', 'jsonl'] as const;
/** What `--format` of `leadsync query` takes. */
export type Format = (typeof FORMATS)[number];

/** How an answer is written, and how much of it. Travels to the process of the query: data alone, no functions. */
export interface OutputOptions {
  readonly format: Format;
  /** At most so many rows. */
  readonly limit: number;
  /** How wide a `table` may be, in characters; undefined: as wide as it likes. */
  readonly room: number | undefined;
  /** Whether a terminal reads it: then `csv`, as the others always do, shows what that would obey. */
  readonly terminal: boolean;
}

/** Writes an answer. Gives how many rows were written, and whether there are more. */
export function writeAnswer(
  { columns, rows }: QueryResult,
  options: OutputOptions,
  write: (text: string) => void,
): { rows: number; more: boolean } {
  const writer = writers[options.format](columns, options, write);
  let written = 0;
  for (const row of rows) {
    if (written === options.limit) {
      writer.end();
      return { rows: written, more: true };
    }
    writer.row(row);
    written += 1;
  }
  writer.end();
  return { rows: written, more: false };
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

/** Null is empty; bytes are hexadecimal. */
function plain(cell: Cell): string {
  if (cell === null) return '';
  return Buffer.isBuffer(cell) ? cell.toString('hex') : String(cell);
}

/** @throws QueryRefused for two columns of one name: most readers of a JSON object keep one value of a key that is there twice */
function requireDistinct(columns: readonly string[]): void {
  const twice = columns.find((name, at) => columns.indexOf(name) !== at);
  if (twice !== undefined)
    throw new QueryRefused(
      `Two columns are named "${printable(twice)}", and a JSON object holds one value for each name. Rename one with AS, or use --format csv.`,
    );
}

/** Integers to the last digit. */
function json(cell: Cell): string {
  if (typeof cell === 'bigint') return String(cell);
  if (typeof cell === 'number') return Number.isFinite(cell) ? String(cell) : 'null';
  return JSON.stringify(cell === null || typeof cell === 'string' ? cell : cell.toString('hex'));
}
