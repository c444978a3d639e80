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

/** What this machine does not let us do. */
class NotHere extends Error {
  override readonly name = 'NotHere';
}

/**
 * A folder that fares as a disk does: full, read-only, gone. The first two take a small file system of its own (tmpfs),
 * which Linux lets only root mount; elsewhere they throw `NotHere`, and the folder is a plain one.
 */
export class SmallDisk {
  /** Whether it has a file system of its own. */
  readonly own: boolean;
  readonly #mount: string;
  readonly #folder: string;
  #full = false;
  #lastFullMs = Number.NEGATIVE_INFINITY;

  /** Makes `folder`, as a link into a new file system of `megabytes`. */
  constructor(folder: string, megabytes: number) {
    this.#mount = join(dirname(folder), `.disk-${folder.slice(dirname(folder).length + 1)}`);
    mkdirSync(this.#mount, { recursive: true });
    this.own = mounted(this.#mount, megabytes);
    this.#folder = join(this.#mount, 'in');
    mkdirSync(this.#folder);
    symlinkSync(this.#folder, folder);
  }

  /** Whether nothing more could be written at some moment since then, by `performance.now()`. */
  wasFull(sinceMs: number): boolean {
    return this.#full || this.#lastFullMs >= sinceMs;
  }

  /** Takes up all the room that is left. @throws NotHere */
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

  /** Makes it read-only, as soon as nobody has a file open for writing. @throws NotHere, Error when somebody keeps one open */
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

  /** Takes the folder away, with all that is in it. */
  hide(): void {
    renameSync(this.#folder, join(this.#mount, 'away'));
  }

  show(): void {
    if (lstatSync(join(this.#mount, 'away'), { throwIfNoEntry: false }) === undefined) return;
    renameSync(join(this.#mount, 'away'), this.#folder);
  }

  /** Everything as it should be, whatever was done to it. */
  heal(): void {
    if (this.own) {
      this.unprotect();
      this.free();
    }
    this.show();
  }

  /** What was in it is gone. */
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
    // No Linux, or not allowed: what needs it says so when its time comes.
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
