import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolderSync } from './files.ts';
import { acquireLock, LockHeld } from './lock.ts';

interface Sign {
  readonly lock: { release(): void };
  /** By which the file is known from one that somebody put in its place. */
  readonly inode: number;
}

/** The signs that this process shows, by file: that it lives, it knows without the file, which somebody may delete. */
const own = new Map<string, Sign>();

/**
 * Shows the other processes on this machine that this one lives: a lock under its name, which the operating system
 * drops when the process ends, however it ends. The name is letters and digits, and never used twice.
 */
export function showLife(folder: string, name: string): { release(): void } {
  const file = fileOf(folder, name);
  own.set(file, makeSign(file));
  return {
    release: () => {
      own.get(file)?.lock.release();
      own.delete(file);
      rmSync(file, { force: true });
    },
  };
}

/** Makes the signs anew that this process shows in a folder, where their files were deleted or replaced. */
export function keepShowingLife(folder: string): void {
  for (const [file, { lock, inode }] of own) {
    if (dirname(file) !== folder || statSync(file, { throwIfNoEntry: false })?.ino === inode) continue;
    own.set(file, makeSign(file));
    lock.release();
  }
}

/**
 * Whether the process of that name is known to be dead: its file is there and nobody holds the lock. A file that is
 * missing proves nothing, for a process that lives may have lost it.
 */
export function isDead(folder: string, name: string): boolean {
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

/** A sign that is younger may be one that its process is about to lock, in ms. */
const SETTLED_MS = 60_000;

/** The names of the processes that have left a sign and are known to be dead. */
export function deadIn(folder: string, now: Date): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.lock'))
    .filter((file) => now.getTime() - (ageMark(join(folder, file)) ?? Number.POSITIVE_INFINITY) > SETTLED_MS)
    .map((file) => file.slice(0, -'.lock'.length))
    .filter((name) => isDead(folder, name));
}

/** The names of the processes that show in a folder that they live. */
export function livingIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.lock'))
    .map((file) => file.slice(0, -'.lock'.length))
    .filter((name) => !isDead(folder, name));
}

function ageMark(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}

/** Removes what a dead process left behind. */
export function removeSign(folder: string, name: string): void {
  rmSync(fileOf(folder, name), { force: true });
}

function makeSign(file: string): Sign {
  makeFolderSync(dirname(file), 0o700);
  const lock = acquireLock(file);
  return { lock, inode: statSync(file).ino };
}

function fileOf(folder: string, name: string): string {
  return join(folder, `${name.replace(/[^0-9a-z]/gi, '_')}.lock`);
}
