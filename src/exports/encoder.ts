import type { Cell } from '../ledger/reading.ts';
import { ParquetFile } from '../parquet/parquet-file.ts';
import type { Column } from '../store/relation.ts';
import { csvLine } from './csv-line.ts';
import { jsonLine } from './json-line.ts';

/** A file in the making: gives its bytes in order, and holds none of what it gave. */
export interface Encoder {
  rows(rows: readonly (readonly Cell[])[]): Buffer;
  end(): Buffer;
}

/** How a table becomes a file. */
export interface FileFormat {
  /** Behind the dot of its files. */
  readonly extension: string;
  open(columns: readonly Column[]): Encoder;
}

/** The formats in which each table is a file. */
export const fileFormats = {
  parquet: { extension: 'parquet', open: parquet },
  csv: { extension: 'csv', open: csv },
  jsonl: { extension: 'jsonl', open: jsonLines },
} as const satisfies Readonly<Record<string, FileFormat>>;

function parquet(columns: readonly Column[]): Encoder {
  const file = new ParquetFile(columns);
  return { rows: (rows) => file.group(rows), end: () => file.end() };
}

/** RFC 4180, in UTF-8, with a header. */
function csv(columns: readonly Column[]): Encoder {
  let header = csvLine(columns.map(({ name }) => name));
  const withHeader = (text: string) => {
    const all = Buffer.from(header + text);
    header = '';
    return all;
  };
  return { rows: (rows) => withHeader(rows.map(csvLine).join('')), end: () => withHeader('') };
}

function jsonLines(columns: readonly Column[]): Encoder {
  return {
    rows: (rows) => Buffer.from(rows.map((row) => jsonLine(columns, row)).join('')),
    end: () => Buffer.alloc(0),
  };
}
