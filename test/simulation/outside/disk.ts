import { basename, dirname, join } from 'node:path';
import type { Files, NewFile } from '../../../src/platform/files/file-system.ts';
import type { Chance } from '../chance.ts';
import type { Life } from '../life.ts';

interface File {
  readonly kind: 'file';
  data: Buffer;
  /** The content that survives a power cut. */
  synced: Buffer;
  modifiedAt: Date;
}

interface Folder {
  readonly kind: 'folder';
  readonly names: Map<string, Node>;
  /** The names that survive a power cut. */
  synced: Map<string, Node>;
  /** The changes of names since then; each survives completely or not at all. */
  unsynced: Change[];
}

type Node = File | Folder;
type Change = (names: Map<string, Node>) => void;

/** A disk that keeps what POSIX promises and no more: without an fsync, a power cut loses content and changed names in any combination. */
export class SimulatedDisk {
  readonly #chance: Chance;
  readonly #now: () => Date;
  readonly #root: Folder = newFolder();
  /** The code with which every other writing step fails. */
  fault: string | undefined;

  constructor(chance: Chance, now: () => Date) {
    this.#chance = chance;
    this.#now = now;
  }

  /** Returns the disk as one process sees it. */
  filesOf(life: Life): Files {
    const act = <T>(work: () => T) => life.act(async () => work(), 'attempt');
    return {
      makeFolder: (path) => act(() => this.#makeFolder(path)),
      list: (folder) => act(() => [...this.#folder(folder).names.keys()]),
      read: (path) => act(() => this.#file(path)?.data),
      modifiedAt: (path) => act(() => (this.#file(path) ?? missing(path)).modifiedAt),
      create: (path) => act(() => this.#create(path, life)),
      rename: (from, to) => act(() => this.#rename(from, to)),
      syncFolder: (path) => act(() => this.#syncFolder(path)),
      probeFolder: (path) => act(() => void this.#folder(path)),
      remove: (path) => act(() => this.#remove(path)),
    };
  }

  /** Returns the files of a folder as every process sees them now, by name. */
  filesIn(path: string): Map<string, Buffer> {
    const folder = this.#find(path);
    const files =
      folder?.kind === 'folder'
        ? [...folder.names].filter((entry): entry is [string, File] => entry[1].kind === 'file')
        : [];
    return new Map(files.map(([name, file]) => [name, file.data]));
  }

  /** Keeps all, none or a part of what was not synced. */
  cutPower(): void {
    this.#cut(this.#root);
  }

  #cut(node: Node): void {
    if (node.kind === 'file') {
      if (!node.data.equals(node.synced)) node.data = this.#remains(node);
      node.synced = node.data;
      return;
    }
    for (const change of node.unsynced) if (this.#chance.oneIn(2)) change(node.synced);
    node.unsynced = [];
    node.names.clear();
    for (const [name, child] of node.synced) node.names.set(name, child);
    for (const child of node.names.values()) this.#cut(child);
  }

  #remains(file: File): Buffer {
    const whole = this.#chance.below(3);
    if (whole === 0) return file.synced;
    return whole === 1 ? file.data : file.data.subarray(0, this.#chance.below(file.data.length));
  }

  #makeFolder(path: string): string | undefined {
    const there = this.#find(path);
    if (there) return there.kind === 'folder' ? undefined : fail('EEXIST');
    this.#write();
    const above = dirname(path);
    const made = this.#makeFolder(above);
    this.#change(above, (names) => names.set(basename(path), folder));
    const folder = newFolder();
    this.#apply(above);
    return made ?? path;
  }

  #create(path: string, life: Life): NewFile {
    this.#write();
    if (this.#find(path)) fail('EEXIST');
    const file: File = {
      kind: 'file',
      data: Buffer.alloc(0),
      synced: Buffer.alloc(0),
      modifiedAt: this.#now(),
    };
    this.#change(dirname(path), (names) => names.set(basename(path), file));
    this.#apply(dirname(path));
    const write = (data: Uint8Array) => {
      file.modifiedAt = this.#now();
      // A full disk takes what fits.
      if (this.fault !== undefined)
        file.data = Buffer.from(data.subarray(0, this.#chance.below(data.length)));
      this.#write();
      file.data = Buffer.from(data);
    };
    const sync = () => {
      this.#write();
      file.synced = file.data;
    };
    return {
      write: (data) => life.act(async () => write(data), 'attempt'),
      sync: () => life.act(async () => sync(), 'attempt'),
      close: () => life.act(async () => undefined, 'attempt'),
    };
  }

  #rename(from: string, to: string): void {
    this.#write();
    const node = this.#find(from) ?? missing(from);
    if (dirname(from) !== dirname(to)) fail('EXDEV');
    this.#change(dirname(to), (names) => {
      if (names.get(basename(from)) === node) names.delete(basename(from));
      names.set(basename(to), node);
    });
    this.#apply(dirname(to));
  }

  #remove(path: string): void {
    const node = this.#find(path);
    if (!node) return;
    this.#change(
      dirname(path),
      (names) => names.get(basename(path)) === node && names.delete(basename(path)),
    );
    this.#apply(dirname(path));
  }

  #syncFolder(path: string): void {
    this.#write();
    const folder = this.#folder(path);
    folder.synced = new Map(folder.names);
    folder.unsynced = [];
  }

  #change(path: string, change: Change): void {
    this.#folder(path).unsynced.push(change);
  }

  #apply(path: string): void {
    const folder = this.#folder(path);
    folder.unsynced.at(-1)?.(folder.names);
  }

  #write(): void {
    if (this.fault !== undefined && this.#chance.oneIn(2)) fail(this.fault);
  }

  #file(path: string): File | undefined {
    const node = this.#find(path);
    return node?.kind === 'folder' ? fail('EISDIR') : node;
  }

  #folder(path: string): Folder {
    const node = this.#find(path) ?? missing(path);
    return node.kind === 'folder' ? node : fail('ENOTDIR');
  }

  #find(path: string): Node | undefined {
    if (dirname(path) === path) return this.#root;
    const above = this.#find(dirname(path));
    return above?.kind === 'folder' ? above.names.get(basename(path)) : undefined;
  }
}

function newFolder(): Folder {
  return { kind: 'folder', names: new Map(), synced: new Map(), unsynced: [] };
}

function missing(path: string): never {
  return fail('ENOENT', join(path));
}

function fail(code: string, path = ''): never {
  throw Object.assign(new Error(`${code} ${path}`), { code });
}
