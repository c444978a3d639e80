import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { copiedTables } from '../../ledger/extraction/copied-rows.ts';
import { parquetColumns, readParquet } from '../../parquet/read-parquet.ts';
import { csvRecords } from '../../platform/text/csv-records.ts';

/** Columns of a row by their names: integers of any size as bigint or text, absent ones as null or undefined. */
export type ExportedRow = Readonly<Record<string, unknown>>;

/** Chooses which columns of a table are wanted; none: the table is passed by. */
export type Choose = (columns: readonly string[]) => readonly string[];

/**
 * The rows of a file that an export has written, in whatever format, a part of them in memory at a time. Throws when it cannot
 * be read as what its name says.
 */
export async function* exportedRows(path: string, choose: Choose): AsyncGenerator<ExportedRow> {
  if (path.endsWith('.parquet')) {
    const columns = choose(await parquetColumns({ path }));
    if (columns.length > 0) yield* readParquet({ path }, columns);
  } else if (path.endsWith('.csv')) yield* fromRecords(csvRecords(createReadStream(path)), choose);
  else if (path.endsWith('.jsonl')) yield* jsonRows(path, choose);
  else for (const { columns, rows } of copiedTables(path)) yield* fromRecords(rows, choose, columns);
}

/** The header is the first record, unless it is given. */
async function* fromRecords(
  records: AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>,
  choose: Choose,
  header?: readonly string[],
): AsyncGenerator<ExportedRow> {
  let names = header;
  let wanted = new Set(header && choose(header));
  for await (const record of records) {
    if (names === undefined) {
      names = record.map(String);
      wanted = new Set(choose(names));
      continue;
    }
    if (wanted.size === 0) return;
    yield Object.fromEntries(
      names.map((name, at) => [name, record[at]] as const).filter(([name]) => wanted.has(name)),
    );
  }
}

/** Its integers are left as text: they may be larger than a number is exact. */
async function* jsonRows(path: string, choose: Choose): AsyncGenerator<ExportedRow> {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    const row = JSON.parse(line) as Record<string, unknown>;
    const exact = Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'number' ? (digitsOf(name, line) ?? value) : value,
    ]);
    const columns = choose(Object.keys(row));
    if (columns.length === 0) return;
    yield Object.fromEntries(exact);
  }
}

function digitsOf(name: string, line: string): string | undefined {
  return new RegExp(`[{,]"${name}":(\\d+)[,}]`).exec(line)?.[1];
}
