import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** The folder of the export or of the backup, which can be put out of reach: a file takes its place, which stops root as well. */
export class BlockableFolder {
  readonly #path: string;
  #isBlocked = false;

  constructor(path: string) {
    this.#path = path;
  }

  get #aside(): string {
    return `${this.#path}-aside`;
  }

  /** Puts the folder out of reach, or back. */
  block(isBlocked: boolean): void {
    if (isBlocked === this.#isBlocked) return;
    this.#isBlocked = isBlocked;
    if (isBlocked) {
      if (existsSync(this.#path)) renameSync(this.#path, this.#aside);
      else mkdirSync(this.#aside);
      writeFileSync(this.#path, '');
    } else {
      rmSync(this.#path);
      renameSync(this.#aside, this.#path);
    }
  }
}
