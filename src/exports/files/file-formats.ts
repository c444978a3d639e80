import type { Column } from '../../catalog/relation.ts';
import type { Cell } from '../../ledger/contract/ledger-tables.ts';
import { ParquetFile, type ParquetGroup, parquetGroup } from '../../parquet/parquet-file.ts';
import { csvLine } from '../../platform/text/csv-line.ts';
import { jsonLine } from './json-line.ts';

/** Encoded rows. Any thread can encode them and transfer them to another thread. */
export type Piece = Pick<ParquetGroup, 'bytes'> & Partial<ParquetGroup>;

/** Encodes one file: returns its bytes in order, and keeps none of them. */
export interface Encoder {
  /** Returns the bytes before the first piece. */
  begin(): Buffer;
  add(piece: Piece): Buffer;
  end(): Buffer;
}

/** Metadata of a file, if its format can hold any. */
export type About = Readonly<Record<string, string>>;

/** Encodes a table as a file. */
export interface FileFormat {
  /** File extension without the dot. */
  readonly extension: string;
  piece(columns: readonly Column[], rows: readonly (readonly Cell[])[]): Piece;
  open(columns: readonly Column[], about: About): Encoder;
}

/** The formats with one file for each table. */
export const fileFormats = {
  parquet: { extension: 'parquet', piece: parquetGroup, open: parquet },
  csv: { extension: 'csv', piece: (_, rows) => text(rows.map(csvLine)), open: csv },
  jsonl: {
    extension: 'jsonl',
    piece: (columns, rows) => text(rows.map((row) => jsonLine(columns, row))),
    open: () => textAfter(''),
  },
} as const satisfies Readonly<Record<string, FileFormat>>;

/** The name of a `FileFormat`. `sqlite` is not among them, because `PublicCopy` writes that format. */
export type FileFormatName = keyof typeof fileFormats;

function text(lines: readonly string[]): Piece {
  return { bytes: new TextEncoder().encode(lines.join('')) };
}

function asBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

function parquet(columns: readonly Column[], about: About): Encoder {
  const file = new ParquetFile(columns, about);
  return {
    begin: () => file.begin(),
    add: (piece) => file.add(piece as ParquetGroup),
    end: () => file.end(),
  };
}

/** Encodes a table as CSV (RFC 4180) in UTF-8, with a header. */
function csv(columns: readonly Column[]): Encoder {
  return textAfter(csvLine(columns.map(({ name }) => name)));
}

function textAfter(header: string): Encoder {
  return {
    begin: () => Buffer.from(header),
    add: ({ bytes }) => asBuffer(bytes),
    end: () => Buffer.alloc(0),
  };
}
