import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { disk } from '../../src/platform/files/file-system.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { exportStateFiles } from './export-state-files.ts';
import { exportStatesContract } from './export-states-contract.ts';

exportStatesContract(() => {
  const dataDir = tempDir();
  return () => exportStateFiles(disk, dataDir);
});

test('a file that is not a state has a name and no state', async () => {
  const states = exportStateFiles(disk, tempDir());
  mkdirSync(states.folder);
  writeFileSync(join(states.folder, 'nightly.json'), '{');
  expect(await states.read('nightly')).toBeUndefined();
  expect(await states.names()).toEqual(['nightly']);
});
