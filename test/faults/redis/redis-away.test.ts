// Faults 13, 14 and 19: an unreachable Redis. Outages last seconds, or with LEADSYNC_FAULTS_LONG=1 the minutes that the list of faults
// names. The in-process carrier has no Redis.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type Daemon, startLeadsync } from '../../support/program/leadsync.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import type { Scene } from '../../support/scene/scene.ts';
import { until } from '../../support/time/until.ts';
import { expectKept } from '../kept.ts';
import { told } from '../telling.ts';
import { LONG, lasting } from './duration.ts';
import { aRedis } from './own-redis.ts';
import { expectWorkWithoutQueue } from './without-queue.ts';

const DOWN_AT_START_MS = lasting({ seconds: 5, long: 300 });
const SHORT_OUTAGE_MS = lasting({ seconds: 3, long: 30 });
const LONG_OUTAGE_MS = lasting({ seconds: 8, long: 600 });
const OUTAGES = [
  ['idle', SHORT_OUTAGE_MS],
  ['busy', LONG_OUTAGE_MS],
  ...(LONG
    ? ([
        ['idle', LONG_OUTAGE_MS],
        ['busy', SHORT_OUTAGE_MS],
      ] as const)
    : []),
] as const;

test('13. with Redis down at the start, polls continue and are recorded, and everything drains once Redis is back', async () => {
  const redis = await aRedis();
  const scene = await aScene('bullmq', { redisUrl: redis.url, stub: { leads: 100 } });
  expect(await scene.run('ledger', 'accept')).toMatchObject({ code: 0 }); // a first start waits for Redis
  await redis.crash();
  const daemon = await startWithoutRedis(scene);
  await told(daemon, 'carrier-unavailable');
  await expectWorkWithoutQueue(scene, daemon, 100);
  const half = sleep(DOWN_AT_START_MS / 2);
  scene.stub.addLeads(100);
  await half;
  await expectWorkWithoutQueue(scene, daemon, 200);
  await sleep(DOWN_AT_START_MS / 2);
  expect(scene.receiver.received).toEqual([]);
  await redis.restart();
  await told(daemon, 'carrier-recovered');
  await expectKept(scene, daemon, { repeats: false });
});

test.each(OUTAGES)(
  '14. with Redis killed while leadsync is %s, for %d ms, leadsync reports it, and new leads drain, each once',
  async (what, outageMs) => {
    const redis = await aRedis();
    const scene = await aScene('bullmq', { redisUrl: redis.url, stub: { leads: 20 } });
    // Every request takes a while, so that some are running when Redis dies.
    scene.receiver.answerAlways((_, res) => void setTimeout(() => res.writeHead(204).end(), 100));
    const daemon = await scene.start();
    await until('the first leads have arrived', () => scene.complete(), 60_000);
    if (what === 'busy') {
      scene.stub.arrive(30);
      await until('new leads arrive', () => scene.receiver.received.length > 40, 30_000);
    }
    await redis.crash();
    const outage = sleep(outageMs);
    await told(daemon, 'carrier-unavailable');
    scene.stub.addLeads(20);
    await expectWorkWithoutQueue(scene, daemon, scene.stub.shown);
    await outage;
    scene.stub.arrive(0);
    scene.receiver.answerAlways(204);
    await redis.restart();
    await told(daemon, 'carrier-recovered');
    // The leads that arrived meanwhile take a while to drain.
    await expectKept(scene, daemon, { repeats: false }, 90_000 + outageMs / 2);
  },
);

test('19. with Redis down and nothing running, SIGTERM ends leadsync long before the grace period does', async () => {
  const { scene, daemon } = await aSceneWithoutRedis({ grace: '60s' });
  const { exit, tookMs } = await timed(() => daemon.kill('SIGTERM'));
  expect(exit).toEqual({ code: 0, signal: null });
  expect(tookMs).toBeLessThan(20_000);
  await scene.bringRedisBack();
  await expectKept(scene, await scene.start(), { repeats: false });
});

test('19. with Redis down and requests hanging, SIGTERM ends leadsync after the grace period', async () => {
  const { scene, daemon } = await aSceneWithoutRedis({ grace: '2s', hanging: 10 });
  const { exit, tookMs } = await timed(() => daemon.kill('SIGTERM'));
  expect(exit).toEqual({ code: 0, signal: null });
  expect(tookMs).toBeGreaterThan(1_500);
  expect(tookMs).toBeLessThan(20_000);
  await scene.bringRedisBack();
  await expectKept(scene, await scene.start(), { repeats: false });
});

test('19. a second SIGTERM ends leadsync immediately, despite hanging requests, a Redis that is down and a long grace period', async () => {
  const { scene, daemon } = await aSceneWithoutRedis({ grace: '10m', hanging: 10 });
  daemon.process.kill('SIGTERM');
  await told(daemon, 'stopping');
  const { exit, tookMs } = await timed(() => daemon.kill('SIGTERM'));
  expect(exit).toEqual({ code: 143, signal: null });
  expect(tookMs).toBeLessThan(5_000);
  await scene.bringRedisBack();
  await expectKept(scene, await scene.start(), { repeats: false });
});

/** Starts a daemon whose Redis has just died, with pending leads and, on request, requests that are never answered. */
async function aSceneWithoutRedis({ grace, hanging = 0 }: { grace: string; hanging?: number }) {
  const redis = await aRedis();
  const scene = await aScene('bullmq', { redisUrl: redis.url, config: { stop: { grace } } });
  scene.receiver.answerAlways(() => undefined);
  const daemon = await scene.start();
  scene.stub.addLeads(hanging);
  await until('requests hang', () => scene.receiver.received.length === hanging, 30_000);
  await redis.crash();
  await told(daemon, 'carrier-unavailable');
  scene.stub.addLeads(50);
  await expectWorkWithoutQueue(scene, daemon, hanging + 50);
  const bringRedisBack = async () => {
    scene.receiver.answerAlways(204);
    await redis.restart();
  };
  return { scene: { ...scene, bringRedisBack }, daemon };
}

/** Waits only until the daemon is alive: without Redis it never reports that it is ready. */
async function startWithoutRedis({ configFile, adminUrl }: Scene): Promise<Daemon> {
  const leadsync = startLeadsync(['run', '-c', configFile]);
  onTestFinished(() => void leadsync.process.kill('SIGKILL'));
  await until('leadsync lives', async () => (await fetch(`${adminUrl}/livez`)).ok, 30_000);
  return Object.assign(leadsync, { adminUrl });
}

async function timed<T>(work: () => Promise<T>): Promise<{ exit: T; tookMs: number }> {
  const startMs = performance.now();
  const exit = await work();
  return { exit, tookMs: performance.now() - startMs };
}
