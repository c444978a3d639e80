import { zstdCompressSync } from 'node:zlib';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Column, ColumnType } from '../catalog/relation.ts';

/** What is written for a column: text, integers as bigint, times as `YYYY-MM-DDTHH:MM:SS.sssZ`, true and false as 1 and 0. */
export type ParquetCell = string | bigint | number | boolean | Uint8Array | null;

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

type ColumnSource = Parameters<ParquetWriter['write']>[0]['columnData'][number];

const DAY_MS = 86_400_000;
/** So many cells tell whether a column repeats itself. */
const SAMPLE = 64;

type Rows = readonly (readonly ParquetCell[])[];

interface ColumnEncoding {
  readonly element: Omit<SchemaElement, 'name' | 'repetition_type'>;
  /** Texts of which hardly two are alike: nobody looks for repeats, nor for the least and greatest. */
  readonly isHighCardinality?: (rows: Rows, at: number) => boolean;
  readonly write: (cell: Exclude<ParquetCell, null>) => unknown;
}

const TEXT: ColumnEncoding = {
  element: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  isHighCardinality: mostlyDistinct,
  write: String,
};
const INTEGER = { type: 'INT64' } as const;

/** JSON is text: every reader takes it, and a lead's own is kept to the last character. */
const JSON_TEXT: ColumnEncoding = { ...TEXT, isHighCardinality: () => true };

const encodings: Readonly<Record<ColumnType, ColumnEncoding>> = {
  text: TEXT,
  json: JSON_TEXT,
  jsonb: JSON_TEXT,
  bigint: { element: INTEGER, write: (cell) => BigInt(cell as bigint) },
  integer: { element: { type: 'INT32' }, write: Number },
  double: { element: { type: 'DOUBLE' }, write: Number },
  boolean: { element: { type: 'BOOLEAN' }, write: (cell) => Number(cell) !== 0 },
  time: {
    element: {
      type: 'INT64',
      converted_type: 'TIMESTAMP_MILLIS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
    },
    write: (cell) => millisecondsOf(cell, (ms) => BigInt(ms)),
  },
  day: {
    element: { type: 'INT32', converted_type: 'DATE' },
    write: (cell) => millisecondsOf(cell, (ms) => Math.floor(ms / DAY_MS)),
  },
};

/** Rows as a part of a file that knows nothing of the parts before it: can be made on any thread, and handed over. */
export interface ParquetGroup {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** What the end of the file says of it; places are counted from `PREFIX_BYTES` before its first byte. */
  readonly described: RowGroup;
}

type RowGroup = ParquetWriter['row_groups'][number];

/** `PAR1`, with which every file begins. */
const PREFIX_BYTES = 4;

/** Makes a group of rows. The same rows give the same bytes. */
export function parquetGroup(columns: readonly Column[], rows: Rows): ParquetGroup {
  const bytes = new ByteWriter();
  const writer = writerOf(columns, bytes);
  const columnData = columns.map((column, at) => columnOf(column, rows, at));
  writer.write({ columnData, rowGroupSize: rows.length });
  return { bytes: bytes.getBytes().slice(PREFIX_BYTES), described: writer.row_groups[0] as RowGroup };
}

/** A Parquet file in the making: gives its bytes group by group, and holds none of what it gave. */
export class ParquetFile {
  readonly #columns: readonly Column[];
  readonly #bytes = new ByteWriter();
  readonly #writer: ParquetWriter;

  /** `about` is noted in the file, for whoever finds it. */
  constructor(columns: readonly Column[], about: Readonly<Record<string, string>> = {}) {
    this.#columns = columns;
    this.#writer = writerOf(columns, this.#bytes, about);
  }

  /** The first bytes, for whoever writes them apart; otherwise they are in front of the first group. */
  begin(): Buffer {
    return this.#taken();
  }

  /** Writes rows as a group of their own. Gives the bytes that belong behind those it gave before. */
  group(rows: Rows): Buffer {
    return this.add(parquetGroup(this.#columns, rows));
  }

  /** The same for a group that was made elsewhere. */
  add({ bytes, described }: ParquetGroup): Buffer {
    this.#writer.row_groups.push(moved(described, BigInt(this.#bytes.offset - PREFIX_BYTES)));
    this.#writer.num_rows += described.num_rows;
    const before = this.#taken();
    this.#bytes.offset += bytes.length;
    return before.length > 0 ? Buffer.concat([before, bytes]) : Buffer.from(bytes.buffer, 0, bytes.length);
  }

  /** The last bytes: without them nobody can read the file. */
  end(): Buffer {
    this.#writer.finish();
    return this.#taken();
  }

  #taken(): Buffer {
    const taken = Buffer.from(this.#bytes.getBytes());
    this.#bytes.index = 0;
    return taken;
  }
}

function writerOf(
  columns: readonly Column[],
  writer: ByteWriter,
  about: Readonly<Record<string, string>> = {},
): ParquetWriter {
  const kvMetadata = Object.entries(about).map(([key, value]) => ({ key, value }));
  return new ParquetWriter({
    writer,
    schema: schemaOf(columns),
    codec: 'ZSTD',
    compressors: { ZSTD: (bytes) => zstdCompressSync(bytes) },
    createdBy: 'leadsync',
    ...(kvMetadata.length > 0 && { kvMetadata }),
  });
}

/** What is said of a group, once it lies so many bytes further back. */
function moved(group: RowGroup, by: bigint): RowGroup {
  const columns = group.columns.map((column) => {
    const data = column.meta_data;
    if (!data) return column;
    const { data_page_offset: pages, dictionary_page_offset: dictionary } = data;
    const meta_data = {
      ...data,
      data_page_offset: pages + by,
      ...(dictionary !== undefined && { dictionary_page_offset: dictionary + by }),
    };
    return { ...column, file_offset: column.file_offset + by, meta_data };
  });
  return { ...group, columns };
}

/** Everything may be null: a lead that no database can read has empty columns. */
function schemaOf(columns: readonly Column[]): SchemaElement[] {
  return [
    { name: 'root', num_children: columns.length },
    ...columns.map(({ name, type }) => ({
      ...encodings[type].element,
      name,
      repetition_type: 'OPTIONAL' as const,
    })),
  ];
}

/** A column whose values are made when it is its turn, so that not all of them are in memory once more at the same time. */
function columnOf({ name, type }: Column, rows: Rows, at: number): ColumnSource {
  const { isHighCardinality, write } = encodings[type];
  const plain = isHighCardinality?.(rows, at) ?? false;
  const cells = () => rows.map((row) => row[at] ?? null);
  return {
    name,
    get data() {
      return plain ? inUtf8(cells()) : cells().map(repeating(write));
    },
    offsetIndex: false, // would say where pages begin in a group that is read whole
    ...(plain && ({ encoding: 'PLAIN', statistics: false } as const)),
  };
}

/** Holds the texts of one column after another: each is written before the next one's are made. Larger ones have their own. */
let inUse = Buffer.alloc(0);
const KEPT_BYTES = 4 * 1024 * 1024;

/** Texts in one buffer: one for each would be more work than to encode them. Good until the next call. */
function inUtf8(cells: readonly ParquetCell[]): (Uint8Array | null)[] {
  const texts = cells.map((cell) => (cell === null ? null : String(cell)));
  const size = texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0);
  const bytes = size > inUse.length ? Buffer.allocUnsafeSlow(size) : inUse;
  if (size <= KEPT_BYTES) inUse = bytes;
  let end = 0;
  return texts.map((text) => {
    if (text === null) return null;
    const start = end;
    end += bytes.write(text, start);
    return bytes.subarray(start, end);
  });
}

/** Most rows have the time of the row before. */
function repeating(write: ColumnEncoding['write']) {
  let last: ParquetCell = null;
  let written: unknown = null;
  return (cell: ParquetCell) => {
    if (cell !== last) {
      last = cell;
      written = cell === null ? null : write(cell);
    }
    return written;
  };
}

/** Whether most of a column's cells differ, by a sample. */
function mostlyDistinct(rows: Rows, column: number): boolean {
  const some = rows.filter((_, at) => at % Math.ceil(rows.length / SAMPLE) === 0).map((row) => row[column]);
  return new Set(some).size > some.length * 0.75;
}

/** Null for what is no time, such as a year that has five digits. */
function millisecondsOf<T>(cell: ParquetCell, write: (ms: number) => T): T | null {
  const ms = Date.parse(String(cell));
  return Number.isNaN(ms) ? null : write(ms);
}
