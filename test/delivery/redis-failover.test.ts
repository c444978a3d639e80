import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { BatchRef } from '../../src/leads/delivery.ts';
import type { PrivateRedis } from '../support/servers/private-redis.ts';
import { startCluster } from '../support/servers/redis-cluster.ts';
import { startSentinels } from '../support/servers/redis-sentinels.ts';
import { uniqueName } from '../support/servers/services.ts';
import { until } from '../support/time/until.ts';
import { Attempts, ref } from './carrier-contract.ts';
import { connected, type Opened, openBullmq } from './open-bullmq.ts';

/** Time for a fail-over and for what leadsync does after it, in ms. */
const PATIENCE_MS = 60_000;

/** Offers batches until every one has been attempted, as the dispatcher does with what the ledger still has in flight. */
async function offersUntilAttempted(opened: Opened, attempts: Attempts, refs: readonly BatchRef[]) {
  await until(
    'every batch has been attempted',
    async () => {
      const done = new Set(attempts.batches);
      const waiting = refs.filter(({ batch }) => !done.has(batch));
      if (waiting.length === 0) return true;
      await opened.carrier.offer(waiting).catch(() => undefined);
      await sleep(200);
      return false;
    },
    PATIENCE_MS,
  );
}

/** What happens to a master. A frozen one closes no connection: only the other servers say that another has its place. */
const STRIKES: readonly [string, (master: PrivateRedis) => void][] = [
  ['killed', (master) => master.process.kill('SIGKILL')],
  ['frozen', (master) => master.process.kill('SIGSTOP')],
];

const some = (from: number) => Array.from({ length: 20 }, (_, index) => ref(from + index));

describe('a fail-over behind sentinels', () => {
  it.each(STRIKES)('a master that is %s is replaced, and every batch is attempted', async (_, strike) => {
    const group = await startSentinels({ redis: 'correct-horse', sentinel: 'battery-staple' });
    onTestFinished(() => group.close());
    const attempts = new Attempts();
    const opened = openBullmq(group.place, attempts.attempt);
    await connected(opened);
    await offersUntilAttempted(opened, attempts, some(0));
    strike(group.master);
    await until(
      'the sentinels name the replica',
      async () => (await group.masterPort()) === group.replica.port,
      PATIENCE_MS,
    );
    await offersUntilAttempted(opened, attempts, some(100));
    expect(new Set(attempts.batches).size).toBe(40);
  });
});

describe('a fail-over of a cluster', () => {
  it.each(STRIKES)('a master that is %s is replaced, and every batch is attempted', async (_, strike) => {
    const cluster = await startCluster();
    onTestFinished(() => cluster.close());
    const attempts = new Attempts();
    const prefix = uniqueName('failover');
    const opened = openBullmq(cluster.place, attempts.attempt, prefix);
    await connected(opened);
    await offersUntilAttempted(opened, attempts, some(0));
    const master = await cluster.masterOf(`{${prefix}}:crm:wait`);
    strike(master);
    await offersUntilAttempted(opened, attempts, some(100));
    const others = cluster.nodes.filter((node) => node !== master);
    const roles = await Promise.all(
      others.map((node) => cluster.ask(node, (redis) => redis.info('replication'))),
    );
    expect(roles.filter((info) => info.includes('role:master'))).toHaveLength(3);
  });

  it('an orderly fail-over takes the queues to the replica', async () => {
    const cluster = await startCluster();
    onTestFinished(() => cluster.close());
    const attempts = new Attempts();
    const prefix = uniqueName('failover');
    const opened = openBullmq(cluster.place, attempts.attempt, prefix);
    await connected(opened);
    const master = await cluster.masterOf(`{${prefix}}:crm:wait`);
    const replica = await replicaOf(cluster, master);
    await cluster.ask(replica, (redis) => redis.call('CLUSTER', 'FAILOVER'));
    await offersUntilAttempted(opened, attempts, some(0));
    await until('the replica is the master', async () => {
      const info = await cluster.ask(replica, (redis) => redis.info('replication'));
      return info.includes('role:master');
    });
    await offersUntilAttempted(opened, attempts, some(100));
    expect(new Set(attempts.batches).size).toBe(40);
  });
});

async function replicaOf(
  cluster: Awaited<ReturnType<typeof startCluster>>,
  master: PrivateRedis,
): Promise<PrivateRedis> {
  for (const node of cluster.nodes) {
    const info = await cluster.ask(node, (redis) => redis.info('replication'));
    if (info.includes('role:slave') && info.includes(`master_port:${master.port}`)) return node;
  }
  throw new Error(`no replica of the master on port ${master.port}`);
}
