import { expect, onTestFinished, test } from 'vitest';
import { aScene } from '../support/scene/a-scene.ts';
import { accountOf, faultsOf } from '../support/scene/oracle.ts';
import { startFreezingProxy } from '../support/servers/freezing-proxy.ts';
import { requireRedisUrl } from '../support/servers/services.ts';
import { until } from '../support/time/until.ts';

test('the daemon replaces workers whose connections die silently, reports and counts it, and every lead arrives once', async () => {
  const redis = new URL(requireRedisUrl());
  const proxy = await startFreezingProxy(Number(redis.port || 6379));
  onTestFinished(() => proxy.close());
  redis.host = `127.0.0.1:${proxy.port}`;
  const scene = await aScene('bullmq', { redisUrl: redis.href, stub: { leads: 10 } });
  const daemon = await scene.start();
  await until('the first leads have arrived', () => scene.complete(), 20_000);
  // The first connection is the producer's, which notices by itself; each worker has two.
  const [, ...workers] = proxy.open;
  expect(workers).toHaveLength(6);
  for (const connection of workers) connection.freeze();
  scene.stub.addLeads(10);
  await until('the leads have arrived all the same', () => scene.complete(), 60_000);
  const replaced = daemon.log.filter(({ event }) => event === 'carrier-replaced');
  expect(replaced.map(({ sink }) => sink).toSorted()).toEqual(['crm', 'drop', 'warehouse']);
  const metrics = await (await fetch(`${daemon.adminUrl}/metrics`)).text();
  for (const { sink } of replaced)
    expect(metrics).toMatch(
      new RegExp(`^leadsync_worker_replacements_total\\{.*sink="${sink}".*\\} 1$`, 'm'),
    );
  expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
});
