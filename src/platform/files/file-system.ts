import { randomBytes } from 'node:crypto';
import { constants, mkdirSync, statSync } from 'node:fs';
import { access, mkdir, open, readdir, readFile, rename, rm, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf } from '../failures/error-code.ts';
import { reach } from '../process/failpoint.ts';
import { giveToFolderOwner, giveToParentOwner } from './folder-owner.ts';

/**
 * Access to the disk. Each operation is a separate method, so that a test can make it fail. Methods throw the errors of Node.js, with their `code`.
 */
export interface Files {
  /** Creates a folder and its parents. Returns the topmost folder that it created; undefined if all existed. */
  makeFolder(path: string, mode: number): Promise<string | undefined>;
  /** Returns the names in a folder. */
  list(folder: string): Promise<readonly string[]>;
  /**
   * Returns the content of a file. Undefined if the file is missing, or if it is a special file such as a named pipe: a read from a pipe
   * cannot be cancelled.
   */
  read(path: string): Promise<Buffer | undefined>;
  /** Returns when a file was last written. */
  modifiedAt(path: string): Promise<Date>;
  /** Creates a file for writing. Throws if the file exists. */
  create(path: string, mode: number): Promise<NewFile>;
  /** Renames a file, and replaces an existing target atomically. */
  rename(from: string, to: string): Promise<void>;
  /** Syncs a folder, so that the creation, renaming and removal of files in it survive a power cut. */
  syncFolder(path: string): Promise<void>;
  /** Throws if this process cannot create and rename files in the folder. */
  probeFolder(path: string): Promise<void>;
  /** Removes a file. Does nothing if the file is missing. */
  remove(path: string): Promise<void>;
}

/** A file that is being written. */
export interface NewFile {
  write(data: Uint8Array): Promise<void>;
  /** Syncs the file, so that its content survives a power cut. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** The types of proc and sysfs as statfs(2) returns them. These file systems look writable to root, but do not allow new files. */
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

/**
 * Codes of errors from syncing a folder that are always fatal. An error with another code may only mean that leadsync lacks the right to
 * sync an existing parent.
 */
const FAILED_DISK: readonly (string | undefined)[] = ['EIO', 'ENOSPC', 'EDQUOT'];

/** Creates a folder and its parents, and syncs them, so that they survive a power cut. Returns whether it created any folder. */
export async function makeFolderDurably(files: Files, folder: string, mode: number): Promise<boolean> {
  const topmost = await files.makeFolder(folder, mode);
  // The name of each new folder is in its parent.
  for (let made = folder; made !== dirname(made); made = dirname(made)) {
    await syncAbove(files, made, topmost !== undefined);
    if (made === topmost) break;
  }
  return topmost !== undefined;
}

/** Syncs the parent of a folder, even if the folder exists: the process that created it may have been killed before the sync. */
async function syncAbove(files: Files, folder: string, isNew: boolean): Promise<void> {
  try {
    await files.syncFolder(dirname(folder));
  } catch (error) {
    if (isNew || FAILED_DISK.includes(codeOf(error))) throw error;
  }
}

/** Matches the names of the temporary files of `writeFileDurably`. A crash may leave such files behind. */
export const TEMPORARY = /^\..+\.[0-9a-f]{16}\.tmp$/;

/**
 * Writes a file atomically: writes a temporary file, syncs, renames, and syncs the folder. A reader gets either the whole new file or the
 * old one, even after a failure, and the file survives a power cut once the returned promise resolves. If `beforeRename` throws, the old
 * file stays.
 * @throws the error of Node.js for the step that failed
 */
export async function writeFileDurably(
  files: Files,
  path: string,
  data: Uint8Array,
  mode: number,
  beforeRename: () => void = () => undefined,
): Promise<void> {
  const folder = dirname(path);
  // Two writers of one file need different temporary files: one would continue to write the file that the other has renamed.
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
    // Report the first failure, not a failure of this removal. If the removal fails, a later cleanup removes the temporary file.
    await files.remove(temporary).catch(() => undefined);
    throw error;
  }
  await files.syncFolder(folder);
}

/**
 * Creates a folder and its parents one by one, because `mkdir` of Node.js with `recursive` never returns if a file system denies that a
 * folder's parent exists (`/proc`, some network mounts).
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

/** Creates one folder. Returns its path, or undefined if it exists. */
async function makeOne(path: string, mode: number): Promise<string | undefined> {
  try {
    await mkdir(path, { mode });
    if (isPrivate(mode)) giveToParentOwner(path);
    return path;
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && (await stat(path)).isDirectory()) return undefined;
    throw error;
  }
}

/** Creates a folder and its parents synchronously. Only for the start of a process. */
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
  if (isPrivate(mode)) giveToParentOwner(path);
}

/** Whether only the owner and the group may use a file of this mode. Such a file must belong to the user that leadsync runs as. */
function isPrivate(mode: number): boolean {
  return (mode & 0o007) === 0;
}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
