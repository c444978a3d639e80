import { expect, test } from 'vitest';
import { runLeadsync } from '../support/leadsync.ts';
import { freePort } from '../support/server-process.ts';
import { carriers, threeSinks } from './three-sinks.ts';

test.each(carriers)('sync brings everything everywhere and says so with exit 0 (%s)', async (carrier) => {
  const scene = await threeSinks(carrier, { stub: { leads: 30 } });
  const { code, stdout } = await runLeadsync(['sync', '-c', scene.configFile]);
  expect(stdout).toContain('crm: 30 delivered, 0 pending, 0 dead');
  expect(code).toBe(0);
  expect(Object.values(await scene.arrivals()).map((leads) => leads.length)).toEqual([30, 30, 30]);
});

test('sync with a sink that is down brings the others their leads and ends with 1', async () => {
  const scene = await threeSinks('in-process', { stub: { leads: 5 } });
  scene.receiver.answerAlways(503);
  const { code, stdout } = await runLeadsync(['sync', '-c', scene.configFile]);
  expect(stdout).toMatch(/crm: 0 delivered, 5 pending, 0 dead/);
  expect(stdout).toMatch(/drop: 5 delivered, 0 pending, 0 dead/);
  expect(code).toBe(1);
});

test('sync with a queue that stays away records the leads, says what is wrong and ends with 1', async () => {
  const queue = { redis_url: `redis://127.0.0.1:${await freePort()}` };
  const scene = await threeSinks('in-process', { stub: { leads: 5 }, config: { queue } });
  const { code, stdout, stderr } = await runLeadsync(['sync', '-c', scene.configFile]);
  expect(stdout).toMatch(/crm: 0 delivered, 5 pending, 0 dead/);
  expect(stderr).toContain('Redis cannot be reached');
  expect(code).toBe(1);
});
