import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { count, type Tally } from './tally.ts';

/** Reads the CSV files of a folder, with a parser that leadsync does not use. */
export class CsvFolder {
  readonly #folder: string;
  readonly #announced = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Prints a line for each file that has appeared since the last call. */
  announce(print: (line: string) => void): void {
    for (const name of this.#files()) {
      if (this.#announced.has(name)) continue;
      this.#announced.add(name);
      const leads = this.#ids(name).length;
      print(`csv      ${name}  ${leads} ${leads === 1 ? 'lead' : 'leads'}`);
    }
  }

  /** Counts the arrivals of each lead in all files. */
  tally(): Tally {
    const tally: Tally = new Map();
    for (const id of this.#files().flatMap((name) => this.#ids(name))) count(tally, id);
    return tally;
  }

  #files(): string[] {
    if (!existsSync(this.#folder)) return [];
    const names = readdirSync(this.#folder).sort();
    return names.filter((name) => name.endsWith('.csv') && !name.startsWith('.'));
  }

  #ids(name: string): number[] {
    const rows: Record<string, string>[] = parse(readFileSync(join(this.#folder, name)), {
      columns: true,
      bom: true,
    });
    return rows.map((row) => Number(row['id']));
  }
}
