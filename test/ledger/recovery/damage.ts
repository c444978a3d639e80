import { closeSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import type { Chance } from '../../simulation/chance.ts';
import { withLedger } from './a-used-ledger.ts';

/** A page of a ledger, as shown by SQLite's dbstat. */
interface Page {
  /** The table or index. */
  readonly name: string;
  readonly pageno: number;
  readonly path: string;
  readonly pagetype: 'leaf' | 'internal' | 'overflow';
  readonly ncell: number;
}

/** The pages of a ledger's file before any damage. */
export class PageMap {
  readonly pages: readonly Page[];
  readonly #file: string;
  readonly #size: number;

  constructor(file: string) {
    this.#file = file;
    [this.pages, this.#size] = withLedger(file, (db) => [
      db.prepare<[], Page>('SELECT name, pageno, path, pagetype, ncell FROM dbstat ORDER BY pageno').all(),
      Number(db.pragma('page_size', { simple: true })),
    ]);
  }

  /** Returns the pages of a table or an index. */
  of(name: string, type?: Page['pagetype']): readonly Page[] {
    return this.pages.filter((page) => page.name === name && (type === undefined || page.pagetype === type));
  }

  /** Returns the number of a table's rows on these pages, or reachable only through them. */
  rowsOn(name: string, damaged: ReadonlySet<number>): number {
    const leaves = this.of(name, 'leaf').filter((leaf) =>
      this.of(name).some(
        (page) => damaged.has(page.pageno) && page.pagetype !== 'overflow' && leaf.path.startsWith(page.path),
      ),
    );
    const overflows = this.of(name, 'overflow').filter(({ pageno }) => damaged.has(pageno));
    return leaves.reduce((sum, leaf) => sum + leaf.ncell, 0) + overflows.length;
  }

  /** Overwrites pages, with zeros unless `bytes` is given. */
  overwrite(pages: readonly number[], bytes = Buffer.alloc(this.#size)): void {
    this.#change((file) => {
      for (const page of pages) writeSync(file, bytes, 0, this.#size, (page - 1) * this.#size);
    });
  }

  /** Damages random pages, but never the schema's. Returns the numbers of those pages. */
  damage(chance: Chance): ReadonlySet<number> {
    const candidates = this.pages.filter(({ name }) => name !== 'sqlite_schema').map(({ pageno }) => pageno);
    const some = chance.shuffled(candidates).slice(0, chance.between(1, 4));
    const kind = chance.below(4);
    if (kind === 0) this.overwrite(some);
    if (kind === 1)
      this.overwrite(some, Buffer.from(Array.from({ length: this.#size }, () => chance.below(256))));
    if (kind === 2) this.#flip(some, chance);
    if (kind === 3)
      return this.#truncate(chance.between(Math.floor(candidates.length * 0.7), candidates.length));
    return new Set(some);
  }

  /** Changes some bytes of each page. */
  #flip(pages: readonly number[], chance: Chance): void {
    this.#change((file) => {
      for (const page of pages)
        for (let flips = chance.between(1, 8); flips > 0; flips -= 1) {
          const [at, byte] = [(page - 1) * this.#size + chance.below(this.#size), Buffer.alloc(1)];
          readSync(file, byte, 0, 1, at);
          byte.writeUInt8(byte.readUInt8() ^ (1 << chance.below(8)));
          writeSync(file, byte, 0, 1, at);
        }
    });
  }

  #truncate(pages: number): ReadonlySet<number> {
    this.#change((file) => ftruncateSync(file, pages * this.#size));
    return new Set(this.pages.map(({ pageno }) => pageno).filter((pageno) => pageno > pages));
  }

  #change(change: (file: number) => void): void {
    const file = openSync(this.#file, 'r+');
    try {
      change(file);
    } finally {
      closeSync(file);
    }
  }
}

/** Zeroes a page without opening the file as a database, which would copy the write-ahead log into it. */
export function overwritePage(path: string, page: number, size = 4096): void {
  const file = openSync(path, 'r+');
  try {
    writeSync(file, Buffer.alloc(size), 0, size, (page - 1) * size);
  } finally {
    closeSync(file);
  }
}
