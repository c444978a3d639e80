import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { copiedTables } from '../../ledger/extraction/copied-rows.ts';
import { parquetColumns, readParquet } from '../../parquet/read-parquet.ts';
import { csvRecords } from '../../platform/text/csv-records.ts';

/** The columns of a row by name: integers as bigint or string, absent values as null or undefined. */
export type ExportedRow = Readonly<Record<string, unknown>>;

/** Chooses the columns of a table to read; if it returns none, the table is skipped. */
export type Choose = (columns: readonly string[]) => readonly string[];

/**
 * Yields the rows of an exported file, with only a part of them in memory at a time. The extension decides the format; any extension other
 * than `.parquet`, `.csv` and `.jsonl` means SQLite. Throws if the content cannot be parsed in that format.
 */
export async function* exportedRows(path: string, choose: Choose): AsyncGenerator<ExportedRow> {
  if (path.endsWith('.parquet')) {
    const columns = choose(await parquetColumns({ path }));
    if (columns.length > 0) yield* readParquet({ path }, columns);
  } else if (path.endsWith('.csv')) yield* fromRecords(csvRecords(createReadStream(path)), choose);
  else if (path.endsWith('.jsonl')) yield* jsonRows(path, choose);
  else for (const { columns, rows } of copiedTables(path)) yield* fromRecords(rows, choose, columns);
}

/** Reads the header from the first record unless `header` is set. */
async function* fromRecords(
  records: AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>,
  choose: Choose,
  header?: readonly string[],
): AsyncGenerator<ExportedRow> {
  let names = header;
  let chosen = new Set(header && choose(header));
  for await (const record of records) {
    if (names === undefined) {
      names = record.map(String);
      chosen = new Set(choose(names));
      continue;
    }
    if (chosen.size === 0) return;
    yield Object.fromEntries(
      names.map((name, at) => [name, record[at]] as const).filter(([name]) => chosen.has(name)),
    );
  }
}

/** Yields the rows of a JSONL file, with integers as strings, because a number may not represent them exactly. */
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
