import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load-config.ts';
import { previewExport, runExport } from '../../../src/daemon/api/run-export.ts';
import { disk } from '../../../src/platform/files/file-system.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { Install } from '../../cli/an-install.ts';
import { exportStateFiles } from '../../exports/export-state-files.ts';

const every = { type: 'directory', directory: './out', every: '1d' };

function daemonOf(options: { exports?: object; backups?: object }) {
  const install = new Install(options);
  const config = loadConfig(install.configFile, { sinkTypes, env: {} });
  const exportStates = exportStateFiles(disk, config.dataDir);
  const parts = {
    role: { kind: 'run', deliver: true },
    current: { config },
    clock: install.clock,
    exportStates,
  } as const;
  const put = (...files: string[]) => {
    mkdirSync(join(install.folder, 'out'), { recursive: true });
    for (const file of files) writeFileSync(join(install.folder, 'out', file), '');
  };
  return { parts, put, at: (file: string) => join(install.folder, 'out', file) };
}

test('an export that was requested or runs is not requested again', async () => {
  const { parts } = daemonOf({ exports: { nightly: every } });
  const context = { parts, exportsUnderway: new Set<string>() };
  const both = ['nightly', 'nightly'].map((name) => runExport('export', name, context));
  expect(await Promise.all(both)).toEqual([true, false]);
  expect([...context.exportsUnderway]).toEqual(['nightly']);
  expect(await runExport('backup', 'nightly', context)).toBeUndefined();
});

test('the files that `keep` removes are known before a run', async () => {
  const [first, second, third] = ['0101', '0102', '0103'].map((day) => `nightly-2026${day}T000000Z.parquet`);
  const ahead = 'nightly-20270101T000000Z.parquet';
  const { parts, put, at } = daemonOf({ exports: { nightly: { ...every, keep: 3 } } });
  const removed = async () => (await previewExport('export', 'nightly', parts))?.removed;
  expect(await removed()).toEqual([]);
  put(`${first}`, `${second}`, 'nightly-20260101T000000Z.db.gz', 'other-20260101T000000Z.parquet');
  expect(await removed()).toEqual([]);
  put(`${third}`);
  expect(await removed()).toEqual([at(`${first}`)]);
  put(ahead);
  expect(await removed()).toEqual([at(ahead), at(`${first}`)]);
  expect(await previewExport('backup', 'nightly', parts)).toBeUndefined();
});

test('without `keep` a run removes nothing, and of a folder that cannot be read the reason is given', async () => {
  const { parts } = daemonOf({ exports: { nightly: every } });
  expect(await previewExport('export', 'nightly', parts)).toEqual({ keep: null, removed: [], unknown: null });
  const broken = daemonOf({ backups: { daily: { ...every, directory: './out/file', keep: 3 } } });
  broken.put('file');
  expect(await previewExport('backup', 'daily', broken.parts)).toEqual({
    keep: 3,
    removed: [],
    unknown: expect.stringContaining(broken.at('file')),
  });
});
