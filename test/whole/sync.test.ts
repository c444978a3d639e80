import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startLeadsync } from '../support/program/leadsync.ts';
import { aScene } from '../support/scene/a-scene.ts';
import { accountOf, faultsOf } from '../support/scene/oracle.ts';
import { carriers } from '../support/scene/scene.ts';
import { freePort } from '../support/servers/server-process.ts';
import { until } from '../support/time/until.ts';

test.each(carriers)('sync delivers everything to every sink and exits with 0 (%s)', async (carrier) => {
  const scene = await aScene(carrier, { stub: { leads: 30 } });
  const { code, stdout } = await scene.run('sync');
  expect(stdout).toContain('crm: 30 delivered (30 in total), 0 pending, 0 dead');
  expect(code).toBe(0);
  expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
});

test("a first sync gives every lead its client's key, in both stores", async () => {
  const config = { store: { client_key: 'a secret of some length' } };
  const scene = await aScene('in-process', { stub: { leads: 300 }, config });
  await scene.run('sync');
  const keyed = 'SELECT count(*) AS leads, count(client_key) AS keyed FROM v_leads_no_pii';
  expect((await scene.run('query', keyed)).stdout).toBe('leads,keyed\r\n300,300\r\n');
  expect(await scene.query(keyed.replace('v_', `${scene.schema}.v_`))).toEqual([
    { leads: '300', keyed: '300' },
  ]);
});

test('with one sink down, sync delivers to the others and exits with 1', async () => {
  const scene = await aScene('in-process', { stub: { leads: 5 } });
  scene.receiver.answerAlways(503);
  const { code, stdout } = await scene.run('sync');
  expect(stdout).toContain('crm: 0 delivered (0 in total), 5 pending, 0 dead');
  expect(stdout).toContain('drop: 5 delivered (5 in total), 0 pending, 0 dead');
  expect(code).toBe(1);
});

test('sync ends early with the reason if its ledger was replaced, although an attempt has not ended', async () => {
  const scene = await aScene('in-process', { stub: { leads: 1 } });
  scene.receiver.answerAlways(() => undefined);
  const sync = startLeadsync(['sync', '-c', scene.configFile]);
  onTestFinished(() => void sync.process.kill('SIGKILL'));
  await until('the attempt has begun', () => scene.receiver.received.length > 0);
  for (const name of ['ledger.db', 'ledger.db-wal', 'ledger.db-shm'])
    rmSync(join(scene.dataDir, name), { force: true });
  expect(await sync.exited).toEqual({ code: 1, signal: null });
  expect(sync.stderr).toContain('sync has ended early, because the ledger was replaced.');
});

test('with the queue down, sync records the leads, reports the problem and exits with 1', async () => {
  const queue = { redis_url: `redis://127.0.0.1:${await freePort()}` };
  const scene = await aScene('in-process', { stub: { leads: 5 }, config: { queue } });
  expect(await scene.run('ledger', 'accept')).toMatchObject({ code: 0 }); // without a ledger it would wait for Redis
  const { code, stdout, stderr } = await scene.run('sync');
  expect(stdout).toContain('crm: 0 delivered (0 in total), 5 pending, 0 dead');
  expect(stderr).toContain('Redis cannot be reached');
  expect(code).toBe(1);
});
