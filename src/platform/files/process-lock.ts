import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { acquireLock, LockHeld } from './file-lock.ts';
import { makeFolderSync } from './file-system.ts';

interface ProcessLock {
  readonly lock: { release(): void };
  /** The inode of the lock file, which shows whether another file has replaced it. */
  readonly inode: number;
}

/** Minimum age of a lock file that can show that a process is dead, in ms: the process may be about to lock a younger file. */
const SETTLED_MS = 60_000;

/**
 * The processes of this machine that show by a lock file in a folder that they are alive. The operating system releases the lock of a process
 * when the process ends, however it ends.
 */
export class ProcessLocks {
  readonly #folder: string;
  /** The locks that this process holds here, by name. A lock stays here even if its file was deleted. */
  readonly #own = new Map<string, ProcessLock>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Takes and holds the lock of a process. `name` must consist of letters and digits, and must not be reused for another process. */
  async join(name: string): Promise<{ release(): void }> {
    this.#own.set(name, makeProcessLock(this.#fileOf(name)));
    return {
      release: () => {
        this.#own.get(name)?.lock.release();
        this.#own.delete(name);
        rmSync(this.#fileOf(name), { force: true });
      },
    };
  }

  /** Restores the lock files of this process if they were deleted or replaced. */
  async showAlive(): Promise<void> {
    for (const [name, { lock, inode }] of this.#own) {
      const file = this.#fileOf(name);
      if (statSync(file, { throwIfNoEntry: false })?.ino === inode) continue;
      this.#own.set(name, makeProcessLock(file));
      lock.release();
    }
  }

  /**
   * Whether the lock file of a process exists and is not locked. A missing file proves nothing, because the file of a live process may have been
   * deleted.
   */
  async isDead(name: string): Promise<boolean> {
    return this.#isDead(name);
  }

  /** Returns the dead processes that have a lock file. Leaves out lock files younger than `SETTLED_MS`. */
  async dead(now: Date): Promise<readonly string[]> {
    const isSettled = (name: string) =>
      now.getTime() - (modifiedAtMs(this.#fileOf(name)) ?? Number.POSITIVE_INFINITY) > SETTLED_MS;
    return this.#names().filter((name) => isSettled(name) && this.#isDead(name));
  }

  /** Whether a process that has a lock file may be alive. */
  isAnyAlive(): boolean {
    return this.#names().some((name) => !this.#isDead(name));
  }

  /** Removes the lock file of a dead process. */
  async forget(name: string): Promise<void> {
    rmSync(this.#fileOf(name), { force: true });
  }

  #isDead(name: string): boolean {
    const file = this.#fileOf(name);
    if (this.#own.has(name) || !existsSync(file)) return false;
    try {
      acquireLock(file).release();
      return true;
    } catch (error) {
      if (error instanceof LockHeld) return false;
      throw error;
    }
  }

  #names(): readonly string[] {
    if (!existsSync(this.#folder)) return [];
    return readdirSync(this.#folder)
      .filter((file) => file.endsWith('.lock'))
      .map((file) => file.slice(0, -'.lock'.length));
  }

  #fileOf(name: string): string {
    return join(this.#folder, `${name.replace(/[^0-9a-z]/gi, '_')}.lock`);
  }
}

function modifiedAtMs(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}

function makeProcessLock(file: string): ProcessLock {
  makeFolderSync(dirname(file), 0o700);
  const lock = acquireLock(file);
  return { lock, inode: statSync(file).ino };
}
