import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { filesOf } from '../../src/config/contract/config.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { ledgerPlaceOf } from '../../src/operations/opening/configured-ledger.ts';
import { exportOnSchedule, reportExports } from '../../src/operations/scheduled-exports.ts';
import { disk } from '../../src/platform/files/file-system.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import type { Event } from '../../src/telemetry/events.ts';
import { Install } from '../cli/an-install.ts';
import { until } from '../support/time/until.ts';
import { exportStateFiles } from './export-state-files.ts';

const DAY_MS = 86_400_000;

test('the daemon runs a backup when it is due, keeps as many as `keep` allows, and reports one that fails', async () => {
  const install = new Install({
    backups: { nightly: { type: 'directory', directory: './b', every: '1d', keep: 1 } },
  });
  await (await install.listed(1, 2)).close();
  const { clock, folder } = install;
  const config = loadConfig(install.configFile, { sinkTypes, env: {} });
  const events: Event[] = [];
  const stop = new AbortController();
  const parts = {
    states: exportStateFiles(disk, config.dataDir),
    ledger: ledgerPlaceOf(config).tables,
    clock,
    random: () => 0.5,
    niceness: 0,
  };
  const told = reportExports((event) => events.push(event), clock);
  const ended = exportOnSchedule(() => filesOf(config), parts, told, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  const nextDay = async () => {
    await until('it rests', () => clock.sleeping > 0, 30_000);
    clock.jump(DAY_MS);
    await clock.pass(2_000);
    await until('it rests', () => clock.sleeping > 0, 30_000);
  };
  await nextDay();
  expect(readdirSync(join(folder, 'b'))).toEqual([expect.stringMatching(/^nightly-20261121T.*\.db\.gz$/)]);
  rmSync(join(folder, 'b'), { recursive: true });
  await nextDay();
  expect(events.map(({ type }) => type)).toEqual(['backup-made', 'backup-made', 'backup-failed']);
  expect(events.at(-1)).toMatchObject({ reason: expect.stringMatching(/ is gone \(ENOENT\)/), failures: 1 });
  expect(existsSync(join(folder, 'b'))).toBe(false);
});

test('a backup cannot have the name of an export', async () => {
  const place = { type: 'directory', directory: './x', every: '1d' };
  const install = new Install({ exports: { nightly: place }, backups: { nightly: place } });
  expect(await install.run(['validate'])).toMatchObject({
    code: 78,
    stderr: expect.stringMatching(/"nightly" is also the name of an export[;,.] ?choose another name/),
  });
});
