import { randomBytes } from 'node:crypto';
import { constants, mkdirSync, statSync } from 'node:fs';
import { access, mkdir, open, readdir, readFile, rename, rm, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf } from '../failures/error-code.ts';
import { reach } from '../process/failpoint.ts';
import { giveFolderToOwnerAbove, giveToFolderOwner } from './folder-owner.ts';

/** What is done to the disk, each step by itself, so that a test can break it. Errors are Node's own, with their `code`. */
export interface Files {
  /** Makes a folder and those above it; gives the topmost one that was made, undefined when all were there. */
  makeFolder(path: string, mode: number): Promise<string | undefined>;
  /** The names in a folder. */
  list(folder: string): Promise<readonly string[]>;
  /** Undefined when there is no such regular file: a read from a named pipe could not be called off. */
  read(path: string): Promise<Buffer | undefined>;
  /** When a file was last written. */
  modifiedAt(path: string): Promise<Date>;
  /** A new file for writing. Fails when there is one. */
  create(path: string, mode: number): Promise<NewFile>;
  /** Takes the place of the target at once, for every reader. */
  rename(from: string, to: string): Promise<void>;
  /** Makes names that were changed in a folder survive a power cut. */
  syncFolder(path: string): Promise<void>;
  /** Fails unless this process may make and rename files in the folder. */
  probeFolder(path: string): Promise<void>;
  /** What is not there is removed already. */
  remove(path: string): Promise<void>;
}

/** A file that is being written, and is nobody else's yet. */
export interface NewFile {
  write(data: Uint8Array): Promise<void>;
  /** Makes what was written survive a power cut. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** proc and sysfs: they look writable to root, and take no files. The numbers are those of statfs(2). */
const KERNEL_FILE_SYSTEMS: ReadonlySet<number> = new Set([0x9fa0, 0x62656572]);

/** The real disk. */
export const disk: Files = {
  makeFolder,
  list: (folder) => readdir(folder),
  read: async (path) => {
    const found = await stat(path).catch(undefinedIfMissing);
    if (!found || !(found.isFile() || found.isDirectory())) return undefined;
    return readFile(path).catch(undefinedIfMissing);
  },
  modifiedAt: async (path) => (await stat(path)).mtime,
  create: async (path, mode) => {
    const file = await open(path, 'wx', mode);
    if (isPrivate(mode)) giveToFolderOwner(file.fd, path);
    return {
      write: async (data) => {
        reach('file-write');
        await file.writeFile(data);
      },
      sync: async () => {
        reach('file-sync');
        await file.sync();
      },
      close: () => file.close(),
    };
  },
  rename: async (from, to) => {
    reach('file-rename');
    await rename(from, to);
  },
  syncFolder: async (path) => {
    const folder = await open(path, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  },
  probeFolder: async (path) => {
    await readdir(path);
    await access(path, constants.W_OK | constants.X_OK);
    if (KERNEL_FILE_SYSTEMS.has((await statfs(path)).type))
      throw Object.assign(new Error('no files can be made here'), { code: 'ENOTSUP' });
  },
  remove: (path) => rm(path, { force: true }),
};

/** What must not be passed over when a folder is synced; whatever else it says of one above ours, that one is not ours to sync. */
const FAILED_DISK: readonly (string | undefined)[] = ['EIO', 'ENOSPC', 'EDQUOT'];

/**
 * Makes a folder with those above it, so that they survive a power cut.
 * @returns whether anything was made
 */
export async function makeFolderDurably(files: Files, folder: string, mode: number): Promise<boolean> {
  const topmost = await files.makeFolder(folder, mode);
  // Each new name is kept by the folder above it.
  for (let made = folder; made !== dirname(made); made = dirname(made)) {
    await syncAbove(files, made, topmost !== undefined);
    if (made === topmost) break;
  }
  return topmost !== undefined;
}

/** One that is there may have been made by a process that was killed before it was synced; or long ago, by somebody else. */
async function syncAbove(files: Files, folder: string, isNew: boolean): Promise<void> {
  try {
    await files.syncFolder(dirname(folder));
  } catch (error) {
    if (isNew || FAILED_DISK.includes(codeOf(error))) throw error;
  }
}

/** Names of files that are being written by `writeFileDurably`, or were when something crashed. */
export const TEMPORARY = /^\..+\.[0-9a-f]{16}\.tmp$/;

/**
 * Writes a file so that every reader finds either all of it or what was there before, and so that it survives a power
 * cut once this has resolved. After a failure the old file is still there, or the new one is, complete. `beforeRename` may
 * throw, and then nothing appears.
 * @throws Node's error of the step that failed
 */
export async function writeFileDurably(
  files: Files,
  path: string,
  data: Uint8Array,
  mode: number,
  beforeRename: () => void = () => undefined,
): Promise<void> {
  const folder = dirname(path);
  // Two writers of one file must not meet in one temporary file: what one has renamed, the other would go on writing.
  const nonce = randomBytes(8).toString('hex');
  const temporary = join(folder, `.${basename(path)}.${nonce}.tmp`);
  try {
    const file = await files.create(temporary, mode);
    try {
      await file.write(data);
      await file.sync();
    } finally {
      await file.close();
    }
    beforeRename();
    await files.rename(temporary, path);
  } catch (error) {
    // The first failure is the one to report; what is left behind is removed later as a leftover.
    await files.remove(temporary).catch(() => undefined);
    throw error;
  }
  await files.syncFolder(folder);
}

/**
 * Step by step, because Node's own `recursive` never ends where a file system denies that a folder's parent exists
 * (`/proc`, some network mounts).
 */
async function makeFolder(path: string, mode: number): Promise<string | undefined> {
  try {
    return await makeOne(path, mode);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    const above = await makeFolder(dirname(path), mode);
    const made = await makeOne(path, mode);
    return above ?? made;
  }
}

/** Gives the path when it was made, undefined when it was there. */
async function makeOne(path: string, mode: number): Promise<string | undefined> {
  try {
    await mkdir(path, { mode });
    if (isPrivate(mode)) giveFolderToOwnerAbove(path);
    return path;
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && (await stat(path)).isDirectory()) return undefined;
    throw error;
  }
}

/** Makes a folder and those above it before anything else can be done; for the start of a process alone. */
export function makeFolderSync(path: string, mode: number): void {
  try {
    makeOneSync(path, mode);
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && statSync(path).isDirectory()) return;
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    makeFolderSync(dirname(path), mode);
    makeOneSync(path, mode);
  }
}

function makeOneSync(path: string, mode: number): void {
  mkdirSync(path, { mode });
  if (isPrivate(mode)) giveFolderToOwnerAbove(path);
}

/** What nobody but its owner may use has to belong to the user that leadsync runs as. */
function isPrivate(mode: number): boolean {
  return (mode & 0o077) === 0;
}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
