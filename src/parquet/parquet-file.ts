import { zstdCompressSync } from 'node:zlib';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Column, ColumnType } from '../catalog/relation.ts';

/** A cell to write: text, integers as bigint, times as `YYYY-MM-DDTHH:MM:SS.sssZ`, true and false as 1 and 0. */
export type ParquetCell = string | bigint | number | boolean | Uint8Array | null;

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

type ColumnSource = Parameters<ParquetWriter['write']>[0]['columnData'][number];

const DAY_MS = 86_400_000;
/** Maximum number of cells in the sample from which the cardinality of a column is estimated. */
const SAMPLE = 64;

type Rows = readonly (readonly ParquetCell[])[];

interface ColumnEncoding {
  readonly element: Omit<SchemaElement, 'name' | 'repetition_type'>;
  /** Whether a column's text values have a high cardinality. If so, dictionary encoding and min/max statistics are skipped. */
  readonly isHighCardinality?: (rows: Rows, at: number) => boolean;
  readonly write: (cell: Exclude<ParquetCell, null>) => unknown;
}

const TEXT: ColumnEncoding = {
  element: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  isHighCardinality: mostlyDistinct,
  write: String,
};
const INTEGER = { type: 'INT64' } as const;

/** JSON is stored as text, which every reader accepts and which keeps a lead's JSON exactly. */
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

/** A row group, independent of the groups before it: any thread can make it and transfer it to another thread. */
export interface ParquetGroup {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The group's entry in the footer. Offsets start `PREFIX_BYTES` before the first byte of the group. */
  readonly described: RowGroup;
}

type RowGroup = ParquetWriter['row_groups'][number];

/** Number of bytes of `PAR1`, with which every file begins. */
const PREFIX_BYTES = 4;

/** Returns the row group for these rows. Deterministic: equal rows have equal bytes. */
export function parquetGroup(columns: readonly Column[], rows: Rows): ParquetGroup {
  const bytes = new ByteWriter();
  const writer = writerOf(columns, bytes);
  const columnData = columns.map((column, at) => columnOf(column, rows, at));
  writer.write({ columnData, rowGroupSize: rows.length });
  return { bytes: bytes.getBytes().slice(PREFIX_BYTES), described: writer.row_groups[0] as RowGroup };
}

/** Encodes a Parquet file group by group. Returns the bytes of each group and does not keep them. */
export class ParquetFile {
  readonly #columns: readonly Column[];
  readonly #bytes = new ByteWriter();
  readonly #writer: ParquetWriter;

  /** @param about key-value metadata to store in the file */
  constructor(columns: readonly Column[], about: Readonly<Record<string, string>> = {}) {
    this.#columns = columns;
    this.#writer = writerOf(columns, this.#bytes, about);
  }

  /** Returns the first bytes of the file. If the caller omits this call, the first group includes them. */
  begin(): Buffer {
    return this.#taken();
  }

  /** Encodes rows as a group. Returns the next bytes of the file. */
  group(rows: Rows): Buffer {
    return this.add(parquetGroup(this.#columns, rows));
  }

  /** Adds a group from `parquetGroup`. Returns the next bytes of the file. */
  add({ bytes, described }: ParquetGroup): Buffer {
    this.#writer.row_groups.push(moved(described, BigInt(this.#bytes.offset - PREFIX_BYTES)));
    this.#writer.num_rows += described.num_rows;
    const before = this.#taken();
    this.#bytes.offset += bytes.length;
    return before.length > 0 ? Buffer.concat([before, bytes]) : Buffer.from(bytes.buffer, 0, bytes.length);
  }

  /** Returns the last bytes of the file, which contain the footer. */
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

/** Returns the footer entry of a group with its offsets increased by `by` bytes. */
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

/** Returns the schema. Every column is optional, because a lead that SQLite cannot parse has nulls. */
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

/** Returns a column whose values are created on access, so that only one column at a time is in memory twice. */
function columnOf({ name, type }: Column, rows: Rows, at: number): ColumnSource {
  const { isHighCardinality, write } = encodings[type];
  const plain = isHighCardinality?.(rows, at) ?? false;
  const cells = () => rows.map((row) => row[at] ?? null);
  return {
    name,
    get data() {
      return plain ? inUtf8(cells()) : cells().map(repeating(write));
    },
    offsetIndex: false, // useless here: readers read whole groups
    ...(plain && ({ encoding: 'PLAIN', statistics: false } as const)),
  };
}

/**
 * A buffer for the text values of one column, reused because each column is written before the next one is read. A buffer larger than
 * `KEPT_BYTES` is not kept.
 */
let inUse = Buffer.alloc(0);
const KEPT_BYTES = 4 * 1024 * 1024;

/**
 * Returns the text values as slices of one buffer, because a separate buffer for each would cost more than the encoding. Valid until the next
 * call.
 */
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

/** Returns `write` with a cache of its last result, because most rows have the same time as the row before. */
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

/** Whether more than three quarters of a sample of a column's cells are distinct. */
function mostlyDistinct(rows: Rows, column: number): boolean {
  const some = rows.filter((_, at) => at % Math.ceil(rows.length / SAMPLE) === 0).map((row) => row[column]);
  return new Set(some).size > some.length * 0.75;
}

/** Returns the converted time; null if the text is not a time, for example because its year has five digits. */
function millisecondsOf<T>(cell: ParquetCell, write: (ms: number) => T): T | null {
  const ms = Date.parse(String(cell));
  return Number.isNaN(ms) ? null : write(ms);
}
