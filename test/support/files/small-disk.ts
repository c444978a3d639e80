import { execFileSync } from 'node:child_process';
import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const BLOCK = Buffer.alloc(256 * 1024);

/** An operation that this machine does not permit. */
class NotHere extends Error {
  override readonly name = 'NotHere';
}

/**
 * A folder that can fail as a disk does: full, read-only or gone. Full and read-only need a small file system of its own (tmpfs), which
 * Linux lets only root mount. Without one, those methods throw `NotHere` and the folder is a plain one.
 */
export class SmallDisk {
  /** Whether the folder has a file system of its own. */
  readonly own: boolean;
  readonly #mount: string;
  readonly #folder: string;
  #full = false;
  #lastFullMs = Number.NEGATIVE_INFINITY;

  /** Creates `folder` as a link into a new file system of `megabytes` MB. */
  constructor(folder: string, megabytes: number) {
    this.#mount = join(dirname(folder), `.disk-${folder.slice(dirname(folder).length + 1)}`);
    mkdirSync(this.#mount, { recursive: true });
    this.own = mounted(this.#mount, megabytes);
    this.#folder = join(this.#mount, 'in');
    mkdirSync(this.#folder);
    symlinkSync(this.#folder, folder);
  }

  /** Whether the disk was full at any time since `sinceMs`, as `performance.now()` counts. */
  wasFull(sinceMs: number): boolean {
    return this.#full || this.#lastFullMs >= sinceMs;
  }

  /** Uses up all free space. @throws NotHere */
  fill(): void {
    this.#requireOwn();
    this.#full = true;
    const file = openSync(join(this.#mount, 'ballast'), 'a');
    try {
      for (let size = BLOCK.length; size >= 512; size /= 2) fillWith(file, BLOCK.subarray(0, size));
    } finally {
      closeSync(file);
    }
  }

  free(): void {
    this.#requireOwn();
    rmSync(join(this.#mount, 'ballast'), { force: true });
    if (this.#full) this.#lastFullMs = performance.now();
    this.#full = false;
  }

  /** Makes the disk read-only once no process has a file open for writing. @throws NotHere, Error if a file stays open */
  async protect(): Promise<void> {
    this.#requireOwn();
    for (let tries = 50; ; tries--) {
      try {
        return this.#remount('ro');
      } catch (error) {
        if (tries === 0) throw error;
        await sleep(20);
      }
    }
  }

  unprotect(): void {
    this.#requireOwn();
    this.#remount('rw');
  }

  /** Moves the folder away, with everything in it. */
  hide(): void {
    renameSync(this.#folder, join(this.#mount, 'away'));
  }

  show(): void {
    if (lstatSync(join(this.#mount, 'away'), { throwIfNoEntry: false }) === undefined) return;
    renameSync(join(this.#mount, 'away'), this.#folder);
  }

  /** Undoes every fault. */
  heal(): void {
    if (this.own) {
      this.unprotect();
      this.free();
    }
    this.show();
  }

  /** Unmounts the disk; its content is lost. */
  close(): void {
    if (this.own) execFileSync('umount', ['--lazy', this.#mount], { stdio: 'ignore' });
  }

  #requireOwn(): void {
    if (!this.own) throw new NotHere('this machine gives it no file system of its own');
  }

  #remount(how: 'ro' | 'rw'): void {
    execFileSync('mount', ['-o', `remount,${how}`, this.#mount], { stdio: 'ignore' });
  }
}

function mounted(folder: string, megabytes: number): boolean {
  try {
    const options = `size=${megabytes}m,mode=0755`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'leadsync-test', folder], { stdio: 'ignore' });
    return true;
  } catch {
    // Not Linux, or not permitted: the methods that need the mount throw NotHere.
    return false;
  }
}

function fillWith(file: number, block: Buffer): void {
  try {
    for (;;) if (writeSync(file, block) < block.length) return;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
  }
}
