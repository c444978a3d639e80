import { zstdCompressSync } from 'node:zlib';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Column, ColumnType } from '../store/relation.ts';

/** What is written for a column: text, integers as bigint, times as `YYYY-MM-DDTHH:MM:SS.sssZ`, true and false as 1 and 0. */
export type ParquetCell = string | bigint | number | boolean | Uint8Array | null;

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

const DAY_MS = 86_400_000;

interface Typed {
  readonly element: Omit<SchemaElement, 'name' | 'repetition_type'>;
  /** Hardly two alike: nobody looks for repeats, nor for the least and greatest. */
  readonly various?: true;
  readonly write: (cell: Exclude<ParquetCell, null>) => unknown;
}

const TEXT: Typed = { element: { type: 'BYTE_ARRAY', converted_type: 'UTF8' }, write: String };
const INTEGER = { type: 'INT64' } as const;

/** JSON is text: every reader takes it, and a lead's own is kept to the last character. */
const JSON_TEXT: Typed = { ...TEXT, various: true };

const types: Readonly<Record<ColumnType, Typed>> = {
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

/** A Parquet file in the making: gives its bytes group by group, and holds no more than one. The same rows give the same bytes. */
export class ParquetFile {
  readonly #columns: readonly Column[];
  readonly #bytes = new ByteWriter();
  readonly #writer: ParquetWriter;

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
    this.#writer = new ParquetWriter({
      writer: this.#bytes,
      schema: schemaOf(columns),
      codec: 'ZSTD',
      compressors: { ZSTD: (bytes) => zstdCompressSync(bytes) },
      createdBy: 'leadsync',
    });
  }

  /** Writes rows as a group of their own. Gives the bytes that belong behind those it gave before. */
  group(rows: readonly (readonly ParquetCell[])[]): Buffer {
    const columnData = this.#columns.map(({ name, type }, at) => ({
      name,
      data: rows.map((row) => valueIn(row[at] ?? null, types[type])),
      ...(types[type].various && ({ encoding: 'PLAIN', statistics: false } as const)),
    }));
    this.#writer.write({ columnData, rowGroupSize: rows.length });
    return this.#taken();
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

/** Everything may be null: a lead that no database can read has empty columns. */
function schemaOf(columns: readonly Column[]): SchemaElement[] {
  return [
    { name: 'root', num_children: columns.length },
    ...columns.map(({ name, type }) => ({
      ...types[type].element,
      name,
      repetition_type: 'OPTIONAL' as const,
    })),
  ];
}

function valueIn(cell: ParquetCell, { write }: Typed): unknown {
  return cell === null ? null : write(cell);
}

/** Null for what is no time, such as a year that has five digits. */
function millisecondsOf<T>(cell: ParquetCell, write: (ms: number) => T): T | null {
  const ms = Date.parse(String(cell));
  return Number.isNaN(ms) ? null : write(ms);
}
