import { Redis } from 'ioredis';
import type { RedisPlace, RedisTls } from '../../../src/delivery/options.ts';
import { Secret } from '../../../src/platform/options/secret.ts';
import { until } from '../time/until.ts';
import { type PrivateRedis, startRedis } from './private-redis.ts';
import type { RedisCertificates } from './redis-tls.ts';
import { freePort } from './server-process.ts';

const SLOTS = 16_384;
const MASTERS = 3;

/** A Redis Cluster on loopback: three masters, each with a replica. */
export interface TestCluster {
  readonly place: Extract<RedisPlace, { kind: 'cluster' }>;
  readonly nodes: readonly PrivateRedis[];
  /** Runs commands on one node. */
  ask<T>(node: PrivateRedis, use: (redis: Redis) => Promise<T>): Promise<T>;
  /** Returns the master of a key at this moment, as some node that answers says. */
  masterOf(key: string): Promise<PrivateRedis>;
  close(): Promise<void>;
}

/** Starts a cluster whose nodes give up on a silent node after 2 s. With `password`, every node requires it. */
export async function startCluster(
  options: { certificates?: RedisCertificates; password?: string } = {},
): Promise<TestCluster> {
  const { certificates, password } = options;
  const nodes = await Promise.all(
    Array.from({ length: MASTERS * 2 }, () => startNode(certificates, password)),
  );
  const login = { username: undefined, password: password === undefined ? undefined : new Secret(password) };
  const cluster: TestCluster = {
    place: {
      kind: 'cluster',
      nodes: nodes.slice(0, 2).map(({ port }) => ({ host: '127.0.0.1', port })),
      login,
      tls: certificates?.client,
      addresses: {},
    },
    nodes,
    ask: (node, use) => askNode(node, { tls: certificates?.client, password }, use),
    masterOf: (key) => masterOf(cluster, key),
    close: async () => {
      await Promise.all(nodes.map((node) => node.close()));
    },
  };
  try {
    await join(cluster);
  } catch (error) {
    await cluster.close();
    throw error;
  }
  return cluster;
}

async function startNode(certificates?: RedisCertificates, password?: string): Promise<PrivateRedis> {
  const [port, busPort] = [await freePort(), await freePort()];
  const args = [
    '--cluster-enabled',
    'yes',
    '--cluster-node-timeout',
    '2000',
    '--cluster-port',
    String(busPort),
  ];
  const login = password === undefined ? [] : ['--requirepass', password, '--masterauth', password];
  return startRedis({ port, args: [...args, ...login, ...(certificates?.argsFor(port) ?? [])] });
}

/** Makes a cluster of the nodes: the first three get the slots, the others replicate them. */
async function join({ nodes, ask }: TestCluster): Promise<void> {
  const [first] = nodes as [PrivateRedis];
  for (const node of nodes.slice(1)) {
    const [, busPort] = await ask(node, (redis) => redis.config('GET', 'cluster-port') as Promise<string[]>);
    await ask(first, (redis) => redis.call('CLUSTER', 'MEET', '127.0.0.1', node.port, busPort ?? ''));
  }
  const known = (count: number) => async () => {
    const infos = await Promise.all(nodes.map((node) => ask(node, (redis) => redis.cluster('INFO'))));
    return infos.every((info) => String(info).includes(`cluster_known_nodes:${count}`));
  };
  await until('all nodes know each other', known(nodes.length));
  const each = Math.ceil(SLOTS / MASTERS);
  for (const [index, master] of nodes.slice(0, MASTERS).entries()) {
    const last = Math.min((index + 1) * each, SLOTS) - 1;
    await ask(master, (redis) => redis.call('CLUSTER', 'ADDSLOTSRANGE', index * each, last));
    const id = await ask(master, (redis) => redis.call('CLUSTER', 'MYID'));
    const replica = nodes[index + MASTERS] as PrivateRedis;
    await until('the replica accepts its master', () =>
      ask(replica, (redis) => redis.call('CLUSTER', 'REPLICATE', String(id))).then(
        () => true,
        () => false,
      ),
    );
  }
  await until('the cluster works and its replicas are in step', async () => {
    const states = await Promise.all(nodes.map((node) => ask(node, (redis) => redis.cluster('INFO'))));
    const replicas = await Promise.all(
      nodes.slice(MASTERS).map((node) => ask(node, (redis) => redis.info('replication'))),
    );
    return (
      states.every((state) => String(state).includes('cluster_state:ok')) &&
      replicas.every((info) => info.includes('master_link_status:up'))
    );
  });
}

async function masterOf({ nodes, ask }: TestCluster, key: string): Promise<PrivateRedis> {
  const answering = nodes.find((node) => node.process.exitCode === null && node.process.signalCode === null);
  if (!answering) throw new Error('no node of the cluster is running');
  const [slot, ranges] = await ask(answering, async (redis) => [
    await redis.cluster('KEYSLOT', key),
    await redis.cluster('SLOTS'),
  ]);
  const range = ranges.find(([from, to]) => from <= Number(slot) && Number(slot) <= to);
  const master = nodes.find(({ port }) => port === range?.[2]?.[1]);
  if (!master) throw new Error(`no node has the slot of ${key}`);
  return master;
}

async function askNode<T>(
  node: PrivateRedis,
  { tls, password }: { tls: RedisTls | undefined; password: string | undefined },
  use: (redis: Redis) => Promise<T>,
): Promise<T> {
  const redis = new Redis(node.port, '127.0.0.1', {
    ...(password === undefined ? {} : { password }),
    ...(tls && { tls: { ca: tls.ca?.reveal(), cert: tls.cert?.reveal(), key: tls.key?.reveal() } }),
  });
  redis.on('error', () => undefined); // the command rejects
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}
