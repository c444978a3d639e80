import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { parquetRows } from '../../test/exports/read-parquet.ts';
import { count, type Tally } from './tally.ts';

type Row = Readonly<Record<string, unknown>>;

/** Reads the leads in the files of a folder and its subfolders, with parsers that leadsync does not use. */
export class LeadFiles {
  readonly #folder: string;
  readonly #ending: string;
  readonly #rows: (path: string) => Promise<readonly Row[]>;
  /** The ids in each file. A file is complete when it appears, and never changes. */
  readonly #ids = new Map<string, readonly number[]>();
  readonly #announced = new Set<string>();

  private constructor(folder: string, ending: string, rows: (path: string) => Promise<readonly Row[]>) {
    this.#folder = folder;
    this.#ending = ending;
    this.#rows = rows;
  }

  /** Returns the CSV files of a folder. */
  static csv(folder: string): LeadFiles {
    return new LeadFiles(folder, '.csv', async (path) =>
      parse(readFileSync(path), { columns: true, bom: true }),
    );
  }

  /** Returns the Parquet files of a folder. */
  static parquet(folder: string): LeadFiles {
    return new LeadFiles(folder, '.parquet', parquetRows);
  }

  /** Prints a line for each file that has appeared since the last call. */
  async announce(print: (line: string) => void): Promise<void> {
    for (const name of this.#files()) {
      if (this.#announced.has(name)) continue;
      this.#announced.add(name);
      const leads = (await this.#idsIn(name)).length;
      print(`${this.#ending.slice(1).padEnd(8)} ${name}  ${leads} ${leads === 1 ? 'lead' : 'leads'}`);
    }
  }

  /** Counts the arrivals of each lead in all files. */
  async tally(): Promise<Tally> {
    const tally: Tally = new Map();
    for (const name of this.#files()) for (const id of await this.#idsIn(name)) count(tally, id);
    return tally;
  }

  #files(): string[] {
    if (!existsSync(this.#folder)) return [];
    const names = readdirSync(this.#folder, { recursive: true, encoding: 'utf8' }).sort();
    return names.filter((name) => name.endsWith(this.#ending) && !/(^|\/)\./.test(name));
  }

  async #idsIn(name: string): Promise<readonly number[]> {
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    const ids = (await this.#rows(join(this.#folder, name))).map((row) => Number(row['id']));
    this.#ids.set(name, ids);
    return ids;
  }
}
