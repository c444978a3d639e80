import { chmodSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { acquireLock, isLocked, LockHeld } from '../../src/platform/files/file-lock.ts';
import { tempDir } from '../support/files/temp-dir.ts';

function modeOf(file: string): number {
  return statSync(file).mode & 0o777;
}

test.each([0o666, 0o644, 0o640, 0o600, undefined])(
  'a lock file with mode %o is closed to every other user once the lock is taken',
  (mode) => {
    const file = join(tempDir(), 'lock');
    if (mode !== undefined) {
      writeFileSync(file, '');
      chmodSync(file, mode);
    }
    const lock = acquireLock(file);
    expect(modeOf(file)).toBe(0o600);
    expect(isLocked(file)).toBe(true);
    expect(() => acquireLock(file)).toThrow(LockHeld);
    lock.release();
    expect(isLocked(file)).toBe(false);
    expect(modeOf(file)).toBe(0o600);
  },
);

test('a lock that cannot be checked does not count as free', () => {
  const folder = join(tempDir(), 'loop');
  expect(isLocked(join(folder, 'lock'))).toBe(false);
  symlinkSync(folder, folder);
  expect(() => isLocked(join(folder, 'lock'))).toThrow(/ELOOP/);
});
