import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { startStub } from '../stub/stub.ts';
import { aScene } from '../support/scene/a-scene.ts';
import { freePort } from '../support/servers/server-process.ts';

test('erasing a person also erases leads that only PostgreSQL still has, and reports when PostgreSQL cannot be queried', async () => {
  const scene = await aScene('in-process', { stub: { leads: 5 }, config: { ledger: { create: 'always' } } });
  await scene.run('sync');
  const rows = () => scene.query<{ id: string; client_email: string }>(`SELECT * FROM ${scene.schema}.leads`);
  const { client_email: email = '' } = (await rows()).find(({ id }) => id === '3') ?? {};
  rmSync(scene.dataDir, { recursive: true });
  const empty = await startStub({ leads: 0 });
  onTestFinished(() => empty.close());
  const config = parse(readFileSync(scene.configFile, 'utf8'));
  config.sources.main.base_url = empty.url;
  writeFileSync(scene.configFile, stringify(config));
  await scene.run('sync');
  expect((await scene.run('erase', email.toUpperCase())).stderr).toContain(
    'This command would erase: main 3.',
  );
  const erased = await scene.run('erase', email, '--yes');
  expect(erased.stdout).toMatch(/^ {2}lead main 3$/m);
  expect((await rows()).map(({ id }) => id).sort()).toEqual(['1', '2', '4', '5']);
  const { stdout: held } = await scene.run('reconcile', '--sink', 'warehouse', '--json');
  expect(held).not.toContain(email);
  config.sinks.warehouse.url = `postgresql://127.0.0.1:${await freePort()}/x`;
  writeFileSync(scene.configFile, stringify(config));
  const { code, stderr } = await scene.run('erase', email);
  expect(stderr).toContain('Sink warehouse could not be searched.');
  expect(code).toBe(1);
});
