// Faults 11, 12 and 15 to 18: what can happen to a Redis that is running. The in-process carrier has none. Fault 12 flushes for seconds, or
// with LEADSYNC_FAULTS_LONG=1 for the minute that the list of faults names.
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { type RunningLeadsync, startLeadsync } from '../../support/program/leadsync.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import type { Scene } from '../../support/scene/scene.ts';
import type { PrivateRedis } from '../../support/servers/private-redis.ts';
import { until } from '../../support/time/until.ts';
import { expectKept } from '../kept.ts';
import { logged, told } from '../telling.ts';
import { lasting } from './duration.ts';
import { aRedis, ask } from './own-redis.ts';
import { jobsIn } from './queue.ts';
import { expectWorkWithoutQueue } from './without-queue.ts';

/** One flush per second. */
const FLUSHES = lasting({ seconds: 6, long: 60 }) / 1_000;
/** Longer than a job's lock, which lasts 6 s. */
const FROZEN_MS = 9_000;

test('11. a FLUSHALL with 10,000 deliveries queued and 50 requests running loses nothing and repeats nothing', async () => {
  const redis = await aRedis();
  const crm = { concurrency: 50, batch: { max: 25, wait: '0s' } };
  const scene = await aScene('bullmq', { redisUrl: redis.url, stub: { leads: 10_000 }, sinks: { crm } });
  const underWay: ServerResponse[] = [];
  scene.receiver.answerAlways((_, res) => void underWay.push(res));
  const daemon = await scene.start();
  const all = async () => underWay.length === 50 && (await jobsIn(scene, 'crm')).length === 10_000 / 25;
  await until('all of them are on their way', all, 60_000);
  await ask(redis.url, (client) => client.flushall());
  // The other two sinks are delivering, and more may have been queued for them by now.
  expect(await jobsIn(scene, 'crm')).toEqual([]);
  scene.receiver.answerAlways(204);
  for (const res of underWay) res.writeHead(204).end();
  await expectKept(scene, daemon, { repeats: false });
});

test('12. with FLUSHALL and SCRIPT FLUSH every second, leads keep arriving, each once', async () => {
  const redis = await aRedis();
  const scene = await aScene('bullmq', { redisUrl: redis.url });
  const daemon = await scene.start();
  scene.stub.arrive(30);
  for (let flushes = 0; flushes < FLUSHES; flushes += 1) {
    await ask(redis.url, async (client) => {
      await client.flushall();
      await client.script('FLUSH');
    });
    const before = scene.receiver.received.length;
    const more = until('a lead arrives', () => scene.receiver.received.length > before, 60_000);
    await Promise.all([more, sleep(1_000)]);
  }
  scene.stub.arrive(0);
  await expectKept(scene, daemon, { repeats: false });
});

test("15. if Redis freezes for longer than a job's lock during requests of two workers, a job that moves to the other worker is not sent again", async () => {
  const redis = await aRedis();
  const config = { log: { format: 'json', level: 'debug' } };
  const sinks = { crm: { concurrency: 10, timeout: '10m' } };
  const scene = await aScene('bullmq', { redisUrl: redis.url, config, sinks });
  const underWay: ServerResponse[] = [];
  // More than one worker takes at a time and fewer than both: each has room for the other's jobs.
  scene.receiver.answerAlways(
    (_, res) => void (underWay.length < 12 ? underWay.push(res) : res.writeHead(204).end()),
  );
  const daemon = await scene.start({ args: ['run', '--no-deliver'] });
  const workers = [aWorker(scene), aWorker(scene)];
  scene.stub.addLeads(12);
  await until('both workers are busy', () => underWay.length === 12, 30_000);
  redis.process.kill('SIGSTOP');
  const frozen = sleep(FROZEN_MS);
  await told(daemon, 'carrier-unavailable');
  scene.stub.addLeads(50);
  await expectWorkWithoutQueue(scene, daemon, 62);
  await frozen;
  redis.process.kill('SIGCONT');
  await told(daemon, 'carrier-recovered');
  const handedOver = () => workers.some((worker) => logged(worker, 'batch-stale').length > 0);
  await until('a job was handed to the other worker', handedOver, 60_000);
  scene.receiver.answerAlways(204);
  for (const res of underWay) res.writeHead(204).end();
  await expectKept(scene, daemon, { repeats: false });
  for (const worker of workers) expect(await worker.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});

test('16. with Redis out of memory, leadsync reports it, keeps recording leads, and delivers them once there is room', async () => {
  const redis = await aRedis({ args: ['--maxmemory', '3mb'] });
  const scene = await aScene('bullmq', { redisUrl: redis.url, stub: { leads: 50 } });
  const daemon = await scene.start();
  await until('the first leads have arrived', () => scene.complete(), 60_000);
  await whileFull(redis, async () => {
    scene.stub.addLeads(100);
    const { reason } = await told(daemon, 'carrier-unavailable');
    expect(reason).toContain('OOM');
    await expectWorkWithoutQueue(scene, daemon, 150);
  });
  await told(daemon, 'carrier-recovered');
  await expectKept(scene, daemon, { repeats: false });
});

test('17. leadsync warns of an eviction policy that may drop jobs, at the start and in check, and still uses Redis', async () => {
  const redis = await aRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] });
  const scene = await aScene('bullmq', { redisUrl: redis.url, stub: { leads: 50 } });
  const daemon = await scene.start();
  const warning = await told(daemon, 'carrier-warning');
  expect(warning).toMatchObject({ level: 'warn', hint: expect.stringContaining('noeviction') });
  const { stdout, stderr } = await scene.run('check');
  expect(stdout + stderr).toContain('noeviction');
  await expectKept(scene, daemon, { repeats: false });
});

test.each([
  [
    'becomes the master again',
    (redis: PrivateRedis) => ask(redis.url, (client) => client.replicaof('NO', 'ONE')),
  ],
  ['is replaced at its address by another master', replacedByAnother],
])(
  '18. when Redis becomes a read-only replica and %s, leadsync reports it, keeps recording leads, and delivers them',
  async (_, endsWell) => {
    const [redis, other] = [await aRedis(), await aRedis()];
    const scene = await aScene('bullmq', { redisUrl: redis.url, stub: { leads: 50 } });
    const daemon = await scene.start();
    await until('the first leads have arrived', () => scene.complete(), 60_000);
    await ask(redis.url, (client) => client.replicaof('127.0.0.1', other.port));
    scene.stub.addLeads(100);
    expect(await told(daemon, 'carrier-unavailable')).toMatchObject({
      reason: expect.stringContaining('READONLY'),
    });
    await expectWorkWithoutQueue(scene, daemon, 150);
    await endsWell(redis);
    await told(daemon, 'carrier-recovered');
    await expectKept(scene, daemon, { repeats: false });
  },
);

function aWorker({ configFile }: Scene): RunningLeadsync {
  const worker = startLeadsync(['worker', '-c', configFile]);
  onTestFinished(() => void worker.process.kill('SIGKILL'));
  return worker;
}

/** Keeps the memory of Redis full to the last bytes while `work` runs, then frees it. */
async function whileFull(redis: PrivateRedis, work: () => Promise<void>): Promise<void> {
  const enough = new AbortController();
  await ask(redis.url, async (client) => {
    const filling = (async () => {
      for (; !enough.signal.aborted; await sleep(20)) await fill(client);
    })();
    try {
      await work();
    } finally {
      enough.abort();
      await filling;
      await client.del('filler');
    }
  });
}

async function fill(client: Redis): Promise<void> {
  for (const size of [64 * 1024, 1024, 16]) {
    const refused = await client.rpush('filler', 'x'.repeat(size)).then(
      () => undefined,
      (error: unknown) => String(error),
    );
    if (refused === undefined) return fill(client);
    expect(refused).toContain('OOM');
  }
}

async function replacedByAnother(redis: PrivateRedis): Promise<void> {
  await redis.close();
  await aRedis({ port: redis.port });
}
