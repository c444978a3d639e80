import { readFileSync } from 'node:fs';
import { zstdDecompressSync } from 'node:zlib';
import { type ParquetParsers, parquetMetadata, parquetReadObjects } from 'hyparquet';
import { DEFAULT_PARSERS } from 'hyparquet/src/convert.js';

const compressors = { ZSTD: (bytes: Uint8Array) => new Uint8Array(zstdDecompressSync(bytes)) };

/** Its own would take a byte-order mark off a text. */
const parsers: ParquetParsers = {
  ...DEFAULT_PARSERS,
  stringFromBytes: (bytes) => bytes && Buffer.from(bytes).toString('utf8'),
};

/** The rows of a Parquet file, as a reader that we did not write finds them. */
export async function parquetRows(path: string): Promise<Record<string, unknown>[]> {
  return parquetReadObjects({ file: bytesOf(path), compressors, parsers });
}

/** Its row groups, the type of each column as the format names it, and what the file says about itself. */
export function parquetShape(path: string) {
  const { schema, row_groups, key_value_metadata = [] } = parquetMetadata(bytesOf(path));
  const types = schema.slice(1).map((one) => [one.name, one.converted_type ?? one.type] as const);
  const about = key_value_metadata.map(({ key, value }) => [key, value] as const);
  return { groups: row_groups.length, types: Object.fromEntries(types), about: Object.fromEntries(about) };
}

function bytesOf(path: string): ArrayBuffer {
  return new Uint8Array(readFileSync(path)).buffer;
}
