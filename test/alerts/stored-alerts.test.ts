import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { StoredAlerts } from '../../src/alerts/stored-alerts.ts';
import { DocumentFolder } from '../../src/platform/files/document-folder.ts';
import { disk } from '../../src/platform/files/file-system.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { alertStoreContract } from './alert-store-contract.ts';

const alertsIn = (folder: string) => new StoredAlerts(new DocumentFolder(disk, folder));

alertStoreContract(() => {
  const folder = tempDir();
  return () => alertsIn(folder);
});

test('a document of another version is an empty state', async () => {
  const folder = tempDir();
  writeFileSync(join(folder, 'alerts.json'), '{"version":9}');
  expect(await alertsIn(folder).read()).toEqual({ entries: [], waiting: {} });
});

test('an entry and a notice of an earlier version have the usual severity of their condition', async () => {
  const folder = tempDir();
  const at = '2026-11-20T10:00:00.000Z';
  const [held, paused] = ['sink_held', 'sink_paused'].map((condition) => ({
    condition,
    about: 'crm',
    what: 'It is.',
  }));
  const notice = { ...paused, kind: 'begun', since: at, at, next: 'Wait.' };
  const entry = { ...held, sinceMs: Date.parse(at), times: 1 };
  writeFileSync(
    join(folder, 'alerts.json'),
    JSON.stringify({ entries: [entry], waiting: { ops: [notice] } }),
  );
  expect(await alertsIn(folder).read()).toMatchObject({
    entries: [{ condition: 'sink_held', severity: 'critical' }],
    waiting: { ops: [{ condition: 'sink_paused', severity: 'warning' }] },
  });
});

test('while the store cannot be reached, the state is in memory, and it is stored when the store is back', async () => {
  const folder = tempDir();
  const files = new DocumentFolder(disk, folder);
  let isAway = false;
  const failing = async () => {
    throw Object.assign(new Error('the store is away'), { code: 'away' });
  };
  const store = new StoredAlerts(
    new Proxy(files, {
      get: (of, name) => {
        if (isAway && (name === 'read' || name === 'write')) return failing;
        const value = Reflect.get(of, name) as unknown;
        return typeof value === 'function' ? value.bind(of) : value;
      },
    }),
  );
  const state = (what: string) => ({ entries: [], waiting: { [what]: [] } });
  await store.write(state('before'));
  isAway = true;
  await expect(store.write(state('meanwhile'))).rejects.toMatchObject({ code: 'away' });
  expect(await store.read()).toEqual(state('meanwhile'));
  isAway = false;
  expect(await store.read()).toEqual(state('meanwhile'));
  await store.write(state('meanwhile'));
  expect(await alertsIn(folder).read()).toEqual(state('meanwhile'));
  await alertsIn(folder).write(state('of another process'));
  expect(await store.read()).toEqual(state('of another process'));
});
