import { zstdDecompressSync } from 'node:zlib';
import {
  type AsyncBuffer,
  asyncBufferFromFile,
  type FileMetaData,
  type ParquetParsers,
  parquetMetadataAsync,
  parquetReadObjects,
} from 'hyparquet';
import { DEFAULT_PARSERS } from 'hyparquet/src/convert.js';

const compressors = { ZSTD: (bytes: Uint8Array) => new Uint8Array(zstdDecompressSync(bytes)) };

/** hyparquet's own parser would strip a byte-order mark from text. */
const parsers: ParquetParsers = {
  ...DEFAULT_PARSERS,
  stringFromBytes: (bytes) => bytes && Buffer.from(bytes).toString('utf8'),
};

/** A row, with 64-bit integers as bigint, times as Date, and absent values as null or undefined. */
export type ParquetRow<Column extends string> = Readonly<Record<Column, unknown>>;

/**
 * Yields these columns of every row of a Parquet file, with one row group in memory at a time. Yields nothing if the file lacks one of the
 * columns. Throws if the file is not Parquet or is damaged.
 */
export async function* readParquet<Column extends string>(
  content: Buffer | { readonly path: string },
  columns: readonly Column[],
): AsyncGenerator<ParquetRow<Column>> {
  const file = 'path' in content ? await asyncBufferFromFile(content.path) : asBuffer(content);
  const metadata = await parquetMetadataAsync(file);
  if (!hasColumns(metadata, columns)) return;
  let rowStart = 0;
  for (const { num_rows: rows } of metadata.row_groups) {
    const rowEnd = rowStart + Number(rows);
    const part = { file, metadata, rowStart, rowEnd, columns: [...columns], compressors, parsers };
    yield* (await parquetReadObjects(part)) as unknown as ParquetRow<Column>[];
    rowStart = rowEnd;
  }
}

/** Returns the names of a file's columns. Throws if the file is not Parquet or is damaged. */
export async function parquetColumns({ path }: { readonly path: string }): Promise<string[]> {
  const { schema } = await parquetMetadataAsync(await asyncBufferFromFile(path));
  return schema.slice(1).map(({ name }) => name);
}

function asBuffer(content: Buffer): AsyncBuffer {
  const bytes = new Uint8Array(content).buffer;
  return { byteLength: bytes.byteLength, slice: (start, end) => bytes.slice(start, end) };
}

function hasColumns({ schema }: FileMetaData, columns: readonly string[]): boolean {
  const names = new Set(schema.map(({ name }) => name));
  return columns.every((column) => names.has(column));
}
