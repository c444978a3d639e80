import type { Cluster, Redis } from 'ioredis';
import { hostAndPort } from '../platform/http/address.ts';
import { DeadlinePassed, withinDeadline } from '../platform/time/deadline.ts';
import { CarrierUnavailable } from './carrier.ts';
import { openRedis, openSentinel, type RedisClient } from './open-redis.ts';
import type { RedisPlace, ServerAddress } from './options.ts';
import { hintFor, hintWithoutCertificate, NoAnswer, redisCodeOf } from './redis-failure.ts';

/** Maximum time for Redis to answer, in ms. */
const ANSWER_MS = 5_000;
/** Number of hash slots in a cluster (Redis cluster specification). */
const SLOTS = 16_384;

type Sentinels = Extract<RedisPlace, { kind: 'sentinel' }>;

/**
 * Verifies that a Redis can carry deliveries, without writing to it. Returns a sentence about what it found, with a warning for each unsuitable
 * setting.
 * @throws CarrierUnavailable
 */
export async function checkRedis(place: RedisPlace, stop: AbortSignal): Promise<string> {
  if (place.kind === 'cluster') return askRedis(place, stop, (client) => describeCluster(client as Cluster));
  const info = await askRedis(place, stop, (client) => client.info());
  requireNoCluster(info);
  if (place.kind === 'server') return `Redis answers${but(warningsOf(info))}.`;
  return describeSentinels(place, await askSentinels(place, stop), info);
}

/** Runs commands over a separate connection, within a deadline. @throws CarrierUnavailable */
export async function askRedis<T>(
  place: RedisPlace,
  stop: AbortSignal,
  ask: (client: RedisClient) => Promise<T>,
): Promise<T> {
  return askOnce(openRedis(place, 'check'), isAnonymous(place) ? hintWithoutCertificate : hintFor, stop, ask);
}

async function askOnce<Client extends RedisClient, T>(
  client: Client,
  nextStep: (code: string) => string,
  stop: AbortSignal,
  ask: (client: Client) => Promise<T>,
): Promise<T> {
  let first: unknown;
  const note = (error: unknown) => {
    first ??= error; // the cause: the command itself often rejects only with "connection is closed"
  };
  client.on('error', note);
  client.on('node error', note);
  try {
    return await withinDeadline(ANSWER_MS, stop, () => client.connect().then(() => ask(client)));
  } catch (error) {
    const code = redisCodeOf(error instanceof DeadlinePassed ? new NoAnswer() : (first ?? error));
    throw new CarrierUnavailable(`Redis cannot be used (${code}).`, nextStep(code), error);
  } finally {
    client.disconnect();
  }
}

/** Whether leadsync connects with TLS and presents no certificate. */
function isAnonymous(place: RedisPlace): boolean {
  const encrypted =
    place.tls !== undefined || (place.kind === 'server' && place.url.reveal().startsWith('rediss:'));
  return encrypted && place.tls?.cert === undefined;
}

/** Returns the master that each sentinel names; undefined for a sentinel that does not answer. */
async function askSentinels(
  place: Sentinels,
  stop: AbortSignal,
): Promise<{ readonly sentinel: ServerAddress; readonly master: string | undefined }[]> {
  return Promise.all(
    place.sentinels.map(async (sentinel) => {
      const ask = (client: Redis) => client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', place.master);
      const answer = await askOnce(openSentinel(place, sentinel), hintFor, stop, ask).catch(() => undefined);
      const [host, port] = Array.isArray(answer) ? answer : [];
      return { sentinel, master: host && hostAndPort({ host: String(host), port: Number(port) }) };
    }),
  );
}

function describeSentinels(
  place: Sentinels,
  answers: Awaited<ReturnType<typeof askSentinels>>,
  info: string,
): string {
  const silent = answers.filter(({ master }) => master === undefined);
  const masters = [...new Set(answers.flatMap(({ master }) => master ?? []))];
  const replicas = Number(/^connected_slaves:(\d+)/m.exec(info)?.[1] ?? 0);
  const warnings = [
    ...silent.map(({ sentinel }) => `the sentinel ${hostAndPort(sentinel)} names no master`),
    ...(masters.length > 1 ? [`the sentinels disagree about the master (${masters.join(', ')})`] : []),
    ...(replicas === 0 ? ['the master has no replica that could replace it'] : []),
    ...warningsOf(info),
  ];
  const known = `${answers.length - silent.length} of ${answers.length} sentinels name ${masters[0]} as the master "${place.master}"`;
  return `Redis answers: ${known}, with ${replicas} ${replicas === 1 ? 'replica' : 'replicas'}${but(warnings)}.`;
}

async function describeCluster(cluster: Cluster): Promise<string> {
  const masters = cluster.nodes('master');
  const infos = await Promise.all(masters.map((node) => node.info()));
  const slots = (await masters[0]?.cluster('SLOTS')) as [from: number, to: number][];
  const covered = slots.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  const warnings = [
    ...(covered < SLOTS ? [`${SLOTS - covered} of its ${SLOTS} slots have no master`] : []),
    ...new Set(infos.flatMap((info) => warningsOf(info))),
  ];
  return `Redis answers: a cluster with ${masters.length} ${masters.length === 1 ? 'master' : 'masters'}${but(warnings)}.`;
}

function but(warnings: readonly string[]): string {
  return warnings.length > 0 ? `, but ${warnings.join(', and ')}` : '';
}

/** Requires that a server is no node of a cluster, which accepts only the keys of its own slots. @throws CarrierUnavailable */
function requireNoCluster(info: string): void {
  if (/^cluster_enabled:1/m.test(info))
    throw new CarrierUnavailable('This Redis is a node of a cluster (MOVED).', hintFor('MOVED'));
}

/** Returns a warning for each unsuitable setting in a server's INFO. @throws CarrierUnavailable if the server is a replica */
function warningsOf(info: string): string[] {
  if (/^role:slave/m.test(info))
    throw new CarrierUnavailable(
      'This Redis is a replica, which does not accept writes.',
      'Set queue.redis_url to its master, or name its sentinels in queue.redis.sentinels.',
    );
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  const version = /^redis_version:(\d+)\.(\d+)/m.exec(info);
  const [major = 0, minor = 0] = version?.slice(1).map(Number) ?? [];
  return [
    ...(policy === undefined || policy === 'noeviction'
      ? []
      : [`its maxmemory-policy is ${policy}, so it may evict jobs: set it to noeviction`]),
    ...(version && (major < 6 || (major === 6 && minor < 2))
      ? [`it is Redis ${major}.${minor}, and BullMQ needs 6.2 or newer`]
      : []),
  ];
}
