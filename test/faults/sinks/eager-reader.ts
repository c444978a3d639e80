import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';

/** So often it looks, in ms: as fast as a timer goes. */
const LOOK_MS = 1;

/** Reads every file of a drop folder the moment it appears, as an impatient importer would, and complains of any that is not whole. */
export class EagerReader {
  /** What was wrong, with the file's name. */
  readonly complaints: string[] = [];
  /** Each file as it was when it was first seen. */
  readonly files = new Map<string, string>();
  readonly #folder: string;
  readonly #timer: NodeJS.Timeout;

  constructor(folder: string) {
    this.#folder = folder;
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  /** Stops, and complains of files that are not as they were when they appeared. */
  stop(): void {
    clearInterval(this.#timer);
    this.#look();
    for (const [name, text] of this.files)
      if (this.#read(name) !== text) this.complaints.push(`${name} was changed after it had appeared`);
  }

  #look(): void {
    for (const name of this.#names()) {
      if (name.startsWith('.') || this.files.has(name)) continue;
      const text = this.#read(name);
      // On a disk that fails it may go again before it can be read; then it is met once more.
      if (text === undefined) continue;
      this.files.set(name, text);
      const fault = faultOf(name, text);
      if (fault !== undefined) this.complaints.push(`${name} ${fault}`);
    }
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder);
    } catch {
      return []; // no folder yet, or a test has taken it away
    }
  }

  #read(name: string): string | undefined {
    try {
      return readFileSync(join(this.#folder, name), 'utf8');
    } catch {
      return undefined; // the whole folder was taken away meanwhile
    }
  }
}

function faultOf(name: string, text: string): string | undefined {
  if (!name.endsWith('.csv')) return 'is visible, and no CSV file';
  if (!text.endsWith('\r\n')) return 'ends in the middle of a row';
  try {
    const rows: unknown[] = parse(text, { columns: true });
    return rows.length === 0 ? 'has no rows' : undefined;
  } catch (error) {
    return `cannot be read: ${error instanceof Error ? error.message : error}`;
  }
}
