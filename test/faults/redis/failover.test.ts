// Fail-overs while leads arrive: behind sentinels, and in a cluster. The in-process carrier has none.
import { expect, onTestFinished, test } from 'vitest';
import type { RedisPlace, ServerAddress } from '../../../src/delivery/options.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import type { PrivateRedis } from '../../support/servers/private-redis.ts';
import { startCluster } from '../../support/servers/redis-cluster.ts';
import { startSentinels } from '../../support/servers/redis-sentinels.ts';
import { uniqueName } from '../../support/servers/services.ts';
import { until } from '../../support/time/until.ts';
import { expectKept } from '../kept.ts';

type Strike = (master: PrivateRedis) => void;
const STRIKES: readonly [string, Strike][] = [
  ['killed', (master) => master.process.kill('SIGKILL')],
  ['frozen', (master) => master.process.kill('SIGSTOP')],
];

/** Returns `queue.redis` for a group of servers, as an operator writes it. */
function written(place: Exclude<RedisPlace, { kind: 'server' }>): Record<string, unknown> {
  const addresses = (list: readonly ServerAddress[]) => list.map(({ host, port }) => `${host}:${port}`);
  const password = place.login.password?.reveal();
  const login = password === undefined ? {} : { password };
  if (place.kind === 'cluster') return { cluster: addresses(place.nodes), ...login };
  return {
    sentinels: addresses(place.sentinels),
    master: place.master,
    sentinel_password: place.sentinelLogin.password?.reveal(),
    ...login,
  };
}

/** Lets leads arrive before, during and after the loss of a master, with a worker beside the daemon. */
async function surviveLoss(
  place: Exclude<RedisPlace, { kind: 'server' }>,
  strike: () => Promise<unknown>,
  isReplaced: () => Promise<boolean>,
  prefix = uniqueName('failover'),
): Promise<void> {
  const queue = { redis: written(place), prefix };
  const scene = await aScene('bullmq', { config: { queue }, stub: { leads: 50 } });
  const daemon = await scene.start({ args: ['run', '--no-deliver'] });
  const worker = await scene.start({ args: ['worker'] });
  scene.stub.arrive(20);
  await until('leads arrive', () => scene.receiver.received.length > 50, 60_000);
  await strike();
  await until('another server is the master', isReplaced, 60_000);
  const before = scene.receiver.received.length;
  await until('leads arrive again', () => scene.receiver.received.length > before + 20, 60_000).catch(
    (cause) => {
      const last = [daemon, worker].map(({ stderr }) => stderr.split('\n').slice(-12).join('\n'));
      throw new Error(`Since then ${scene.receiver.received.length - before} arrived.\n${last.join('\n')}`, {
        cause,
      });
    },
  );
  scene.stub.arrive(0);
  await expectKept(scene, daemon, { repeats: false });
  expect(scene.served().length).toBeGreaterThan(70);
}

test.each(STRIKES)(
  'leads keep arriving, each once, when the master behind sentinels is %s',
  async (_, strike) => {
    const group = await startSentinels({ redis: 'correct-horse', sentinel: 'battery-staple' });
    onTestFinished(() => group.close());
    await surviveLoss(
      group.place,
      async () => strike(group.master),
      async () => (await group.masterPort()) === group.replica.port,
    );
  },
);

test.each(STRIKES)('leads keep arriving, each once, when a master of a cluster is %s', async (_, strike) => {
  const cluster = await startCluster({ password: 'correct-horse' });
  onTestFinished(() => cluster.close());
  let lost: PrivateRedis | undefined;
  // Every sink's queue is in the hash slot of the ledger, so the master to strike is the one that has jobs.
  const withJobs = async () => {
    for (const node of cluster.nodes) {
      const info = await cluster.ask(node, (redis) => redis.info());
      if (info.includes('role:master') && /^db0:keys=/m.test(info) && /keys=(\d{2,})/.test(info)) return node;
    }
    return undefined;
  };
  await surviveLoss(
    cluster.place,
    async () => {
      lost = await until('a master has the queues', withJobs);
      strike(lost);
    },
    async () => {
      const others = cluster.nodes.filter((node) => node !== lost);
      const infos = await Promise.all(others.map((node) => cluster.ask(node, (redis) => redis.info())));
      return infos.filter((info) => info.includes('role:master')).length === 3;
    },
  );
});
