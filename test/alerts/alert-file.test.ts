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

test('an entry and a notice of an earlier version have the usual severity of their condition', async () => {
  const file = join(tempDir(), 'alerts.json');
  const at = '2026-11-20T10:00:00.000Z';
  const [held, paused] = ['sink_held', 'sink_paused'].map((condition) => ({
    condition,
    about: 'crm',
    what: 'It is.',
  }));
  const notice = { ...paused, kind: 'begun', since: at, at, next: 'Wait.' };
  const entry = { ...held, sinceMs: Date.parse(at), times: 1 };
  writeFileSync(file, JSON.stringify({ entries: [entry], waiting: { ops: [notice] } }));
  expect(await new AlertFile(disk, file).read()).toMatchObject({
    entries: [{ condition: 'sink_held', severity: 'critical' }],
    waiting: { ops: [{ condition: 'sink_paused', severity: 'warning' }] },
  });
});
