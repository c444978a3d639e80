import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolderSync } from './file-system.ts';
import { acquireLock, LockHeld } from './lock.ts';

interface ProcessLock {
  readonly lock: { release(): void };
  /** The inode of the lock file, which shows whether another file has replaced it. */
  readonly inode: number;
}

/** The process locks that this process holds, by the path of the lock file. A lock stays here even if its file was deleted. */
const own = new Map<string, ProcessLock>();

/**
 * Takes and holds a process lock, which shows other processes on this machine that this process is alive. The operating system releases the
 * lock when the process ends, however it ends. `name` has to consist of letters and digits, and must never be used again.
 */
export function holdProcessLock(folder: string, name: string): { release(): void } {
  const file = fileOf(folder, name);
  own.set(file, makeProcessLock(file));
  return {
    release: () => {
      own.get(file)?.lock.release();
      own.delete(file);
      rmSync(file, { force: true });
    },
  };
}

/** Restores the lock files of this process in a folder if they were deleted or replaced. */
export function restoreProcessLocks(folder: string): void {
  for (const [file, { lock, inode }] of own) {
    if (dirname(file) !== folder || statSync(file, { throwIfNoEntry: false })?.ino === inode) continue;
    own.set(file, makeProcessLock(file));
    lock.release();
  }
}

/**
 * Whether a process is known to be dead: its lock file exists and is not locked. A missing file proves nothing, because the file of a
 * live process may have been deleted.
 */
export function isProcessDead(folder: string, name: string): boolean {
  const file = fileOf(folder, name);
  if (own.has(file) || !existsSync(file)) return false;
  try {
    acquireLock(file).release();
    return true;
  } catch (error) {
    if (error instanceof LockHeld) return false;
    throw error;
  }
}

/** Minimum age of a lock file that can show that a process is dead, in ms: the process may be about to lock a younger file. */
const SETTLED_MS = 60_000;

/**
 * Returns the names of the processes that are known to be dead by their lock files in a folder. Leaves out lock files younger than
 * `SETTLED_MS`.
 */
export function deadProcesses(folder: string, now: Date): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.lock'))
    .filter(
      (file) => now.getTime() - (modifiedAtMs(join(folder, file)) ?? Number.POSITIVE_INFINITY) > SETTLED_MS,
    )
    .map((file) => file.slice(0, -'.lock'.length))
    .filter((name) => isProcessDead(folder, name));
}

/** Returns the names of the processes that have a lock file in a folder and may be alive. */
export function liveProcesses(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.lock'))
    .map((file) => file.slice(0, -'.lock'.length))
    .filter((name) => !isProcessDead(folder, name));
}

function modifiedAtMs(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}

/** Removes the lock file of a dead process. */
export function removeProcessLock(folder: string, name: string): void {
  rmSync(fileOf(folder, name), { force: true });
}

function makeProcessLock(file: string): ProcessLock {
  makeFolderSync(dirname(file), 0o700);
  const lock = acquireLock(file);
  return { lock, inode: statSync(file).ino };
}

function fileOf(folder: string, name: string): string {
  return join(folder, `${name.replace(/[^0-9a-z]/gi, '_')}.lock`);
}
