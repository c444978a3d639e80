import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from './files.ts';
import { acquireLock, LockHeld } from './lock.ts';

/**
 * Shows the other processes on this machine that this one lives: a lock under its name, which the operating system
 * drops when the process ends, however it ends. The name is letters and digits, and never used twice.
 */
export function showLife(folder: string, name: string): { release(): void } {
  makeFolderSync(folder, 0o700);
  const file = fileOf(folder, name);
  const lock = acquireLock(file);
  return {
    release: () => {
      lock.release();
      rmSync(file, { force: true });
    },
  };
}

/** Whether the process of that name lives. What a dead one left behind is removed. */
export function isAlive(folder: string, name: string): boolean {
  const file = fileOf(folder, name);
  if (!existsSync(file)) return false;
  try {
    acquireLock(file).release();
  } catch (error) {
    if (error instanceof LockHeld) return true;
    throw error;
  }
  rmSync(file, { force: true });
  return false;
}

function fileOf(folder: string, name: string): string {
  return join(folder, `${name.replace(/[^0-9a-z]/gi, '_')}.lock`);
}
