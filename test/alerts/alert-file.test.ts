import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AlertFile } from '../../src/alerts/alert-file.ts';
import { disk } from '../../src/platform/files/file-system.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { alertStoreContract } from './alert-store-contract.ts';

alertStoreContract(() => {
  const file = join(tempDir(), 'alerts.json');
  return () => new AlertFile(disk, file);
});

test('a file of another version is an empty state', async () => {
  const file = join(tempDir(), 'alerts.json');
  writeFileSync(file, '{"version":9}');
  expect(await new AlertFile(disk, file).read()).toEqual({ entries: [], waiting: {} });
});
