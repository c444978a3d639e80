import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** Public test data beside the project; it is not a part of it, and may be absent. */
const FOLDER = fileURLToPath(new URL('../../../shared/corpora/', import.meta.url));

/** The Big List of Naughty Strings, or undefined where it is absent; which of the two is said on standard error. */
export const naughtyStrings: readonly string[] | undefined = present(
  'The Big List of Naughty Strings',
  'big-list-of-naughty-strings/blns.json',
  (file) => z.array(z.string()).parse(JSON.parse(readFileSync(file, 'utf8'))),
);

/** A CSV file of csv-spectrum, and the table that it must be read as. */
export interface SpectrumTable {
  readonly name: string;
  readonly text: string;
  readonly rows: readonly Readonly<Record<string, string>>[];
}

/** csv-spectrum, or undefined where it is absent; which of the two is said on standard error. */
export const csvSpectrum: readonly SpectrumTable[] | undefined = present(
  'csv-spectrum',
  'csv-spectrum',
  (folder) =>
    readdirSync(join(folder, 'csvs')).map((file) => {
      const name = file.replace(/\.csv$/, '');
      const json = readFileSync(join(folder, 'json', `${name}.json`), 'utf8');
      const rows = z.array(z.record(z.string(), z.string())).parse(JSON.parse(json));
      return { name, text: readFileSync(join(folder, 'csvs', file), 'utf8'), rows };
    }),
);

/** Ends the name of a test: says whether it ran with the corpus. */
export function withOrWithout(corpus: readonly unknown[] | undefined, name: string): string {
  return corpus ? `and of ${name} (${corpus.length})` : `and WITHOUT ${name}, which is absent here`;
}

function present<T>(
  name: string,
  path: string,
  read: (path: string) => readonly T[],
): readonly T[] | undefined {
  const where = join(FOLDER, path);
  const corpus = existsSync(where) ? read(where) : undefined;
  process.stderr.write(
    corpus
      ? `${name}: ${corpus.length} entries are tested with.\n`
      : `${name} is ABSENT (${where}): tested without it.\n`,
  );
  return corpus;
}
