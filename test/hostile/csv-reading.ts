import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import { csvFiles } from '../support/scene/scene.ts';

const records = z.array(z.array(z.string()));

/** A row by the names of its columns. */
export type CsvRow = Readonly<Record<string, string>>;

/** Reads a CSV file by csv-parse, strictly: its records, the header among them. */
export function readRecords(file: string): string[][] {
  return records.parse(parse(readFileSync(file), { record_delimiter: '\r\n' }));
}

/** Every row in a folder's files, by column. */
export function readRows(folder: string): CsvRow[] {
  return csvFiles(folder).flatMap((name) => {
    const [header = [], ...rows] = readRecords(join(folder, name));
    return rows.map((row) => Object.fromEntries(header.map((column, at) => [column, row[at] ?? ''])));
  });
}

const PROGRAM = `
import csv, json, sys
csv.field_size_limit(2**31 - 1)
def read(name):
    with open(name, encoding='utf-8', newline='') as file:
        return list(csv.reader(file, strict=True))
print(json.dumps([read(name) for name in sys.argv[1:]]))
`;

const version = spawnSync('python3', ['--version'], { encoding: 'utf8' });

/** Which Python there is to read CSV files with; undefined, and said so on standard error, where there is none. */
export const python = version.status === 0 ? version.stdout.trim() : undefined;
if (python === undefined)
  process.stderr.write('There is no python3: CSV files are read by csv-parse alone.\n');

/** Reads CSV files by the csv module of Python, strictly: the records of each. */
export function readByPython(files: readonly string[]): string[][][] {
  const { status, stdout, stderr } = spawnSync('python3', ['-c', PROGRAM, ...files], {
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  if (status !== 0) throw new Error(`python3 cannot read the files: ${stderr}`);
  return z.array(records).parse(JSON.parse(stdout));
}
