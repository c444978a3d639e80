import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Directory } from '../../src/exports/destinations/directory.ts';
import { tempDir } from '../support/files/temp-dir.ts';

const FILES = 2_000;

/** How many files are in a folder; none when it is not there. */
function countIn(folder: string): number {
  try {
    return readdirSync(folder).length;
  } catch {
    return 0; // removed between any two moments
  }
}

test('a folder that is removed is complete as long as it is there', async () => {
  const folder = tempDir();
  const name = 'nightly-20261120T100000Z';
  const run = join(folder, name);
  mkdirSync(run);
  for (let at = 0; at < FILES; at += 1) writeFileSync(join(run, String(at)), '');
  let removed = false;
  const removing = new Directory('nightly', folder).remove(name).finally(() => {
    removed = true;
  });
  while (!removed) {
    expect([0, FILES]).toContain(countIn(run));
    await setImmediate();
  }
  await removing;
  expect(readdirSync(folder)).toEqual([]);
});
