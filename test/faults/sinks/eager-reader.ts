import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';

/** The interval between two checks, in ms: the shortest of a timer. */
const LOOK_MS = 1;

/** Reads every file of a drop folder as soon as it appears, as an impatient importer would, and records each that is incomplete. */
export class EagerReader {
  /** What was wrong, with the file's name. */
  readonly complaints: string[] = [];
  /** The content of each file when it first appeared. */
  readonly files = new Map<string, string>();
  readonly #folder: string;
  readonly #timer: NodeJS.Timeout;

  constructor(folder: string) {
    this.#folder = folder;
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  /** Stops, and records files that have changed since they appeared. */
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
      // On a failing disk, a file may vanish before it is read; it then counts as new when it reappears.
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
      return []; // the folder does not exist yet, or a test has moved it away
    }
  }

  #read(name: string): string | undefined {
    try {
      return readFileSync(join(this.#folder, name), 'utf8');
    } catch {
      return undefined; // the folder was moved away meanwhile
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
