import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../support/files/temp-dir.ts';
import { until } from '../support/time/until.ts';
import { aServerScene } from './server-ledger.ts';

const ON_TIME_MS = 60_000;

/** Returns the answer of the API of a running leadsync. */
async function ask<Answer>(adminUrl: string, path: string): Promise<Answer> {
  return (await (await fetch(`${adminUrl}/api/v1/${path}`)).json()) as Answer;
}

test('a machine with another data directory continues with the tokens, the audit log, the exports and the alerts of the first one', async () => {
  const folder = tempDir();
  const nightly = { type: 'directory', directory: folder, every: '1d', tables: ['leads'], format: 'csv' };
  const alerts = {
    to: { ops: { type: 'webhook', url: 'http://127.0.0.1:9/alerts' } },
    when: { sink_paused: '0s' },
  };
  const config = { exports: { nightly }, alerts };
  const scene = await aServerScene('in-process', { stub: { leads: 3 }, config });
  const first = await scene.start();
  await until('all are delivered', () => scene.complete(), ON_TIME_MS);
  await until('the export is made', () => readdirSync(folder).length === 1, ON_TIME_MS);
  expect((await scene.run('pause', 'crm', '--reason', 'maintenance')).code).toBe(0);
  const paused = async (adminUrl: string) =>
    (await ask<{ alerts: { condition: string }[] }>(adminUrl, 'alerts')).alerts.some(
      ({ condition }) => condition === 'sink_paused',
    );
  await until('the alert is known', () => paused(scene.adminUrl), ON_TIME_MS);
  expect(await first.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  const names = readdirSync(scene.dataDir);
  expect(names.filter((name) => /^(?:tokens|alerts\.json|audit\.jsonl)$/.test(name))).toEqual([]);
  expect(existsSync(join(scene.dataDir, 'exports', 'nightly.json'))).toBe(false);
  rmSync(scene.dataDir, { recursive: true });

  const other = await scene.onAnotherMachine();
  const second = other.start('run');
  await until('it polls', async () => (await other.run('poll')).code === 0, ON_TIME_MS);
  expect(await paused(other.adminUrl)).toBe(true);
  expect(scene.stub.tokenRequests).toBe(1);
  expect(readdirSync(folder)).toHaveLength(1);
  const status = await other.run('status', '--json');
  expect(JSON.parse(status.stdout).exports).toMatchObject([
    { export: 'nightly', last_success_at: expect.any(String) },
  ]);
  expect((await other.run('resume', 'crm')).code).toBe(0);
  const { rows } = await ask<{ rows: { what: string }[] }>(other.adminUrl, 'audit?limit=50');
  expect(rows.map(({ what }) => what)).toEqual(expect.arrayContaining(['pause', 'poll', 'resume']));
  expect(await second.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});
