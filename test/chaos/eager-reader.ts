import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { csvFiles } from '../support/scene/scene.ts';

/** A reader that takes each CSV file as soon as it appears: the file must be complete by then and never change again. */
export class EagerReader {
  readonly #folder: string;
  readonly #taken = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Reads the files that have appeared since the last call. */
  look(): void {
    for (const name of csvFiles(this.#folder)) {
      if (!this.#taken.has(name)) this.#take(name);
    }
  }

  /** Returns the files that differ, in any byte, from what was read. */
  changed(): string[] {
    return [...this.#taken].filter(([name, taken]) => this.#read(name) !== taken).map(([name]) => name);
  }

  #take(name: string): void {
    const content = this.#read(name);
    if (content !== undefined) this.#taken.set(name, content);
  }

  #read(name: string): string | undefined {
    try {
      return hash('sha256', readFileSync(join(this.#folder, name)));
    } catch {
      // The folder was moved away meanwhile.
      return undefined;
    }
  }
}
