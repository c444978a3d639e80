import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';

/** A file system of a few MB that goes with the running test. */
export interface SmallDisk {
  readonly folder: string;
  /** Takes all the room that is left, to the last byte. */
  fill(): void;
  makeRoom(): void;
}

/** Undefined where this machine lets nobody mount one: only root may, on Linux. */
export function smallDisk(megabytes: number): SmallDisk | undefined {
  const folder = tempDir();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'leadsync-test', folder], {
      stdio: 'ignore',
    });
  } catch {
    return undefined; // the caller says what it does without one
  }
  onTestFinished(() => {
    execFileSync('umount', ['--lazy', folder], { stdio: 'ignore' });
  });
  const ballast = join(folder, 'ballast');
  return { folder, fill: () => fill(ballast), makeRoom: () => rmSync(ballast, { force: true }) };
}

function fill(ballast: string): void {
  const file = openSync(ballast, 'a');
  try {
    for (;;) writeSync(file, Buffer.alloc(4096, 1));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
  } finally {
    closeSync(file);
  }
}
