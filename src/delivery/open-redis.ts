import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisLogin, RedisPlace, RedisTls, ServerAddress } from './options.ts';
import { reconnectWhenReadOnly } from './reconnect-when-read-only.ts';
import { PersistentSentinelConnector } from './sentinel-connector.ts';

/** A connection to one Redis, or to the nodes of a cluster. */
export type RedisClient = Redis | Cluster;

/** Timeout of a connection attempt and of a command, in ms. */
export const COMMAND_MS = 5_000;

/**
 * Time between two requests for the layout of a cluster, in ms. A frozen master closes no connection, so only the layout shows that it was replaced.
 */
const LAYOUT_MS = 2_000;

type ConnectionOptions = Pick<
  RedisOptions,
  | 'commandTimeout'
  | 'connectTimeout'
  | 'enableOfflineQueue'
  | 'enableReadyCheck'
  | 'lazyConnect'
  | 'maxLoadingRetryTime'
  | 'maxRetriesPerRequest'
  | 'reconnectOnError'
  | 'retryStrategy'
>;

/** The purpose of a connection: to check Redis and to offer jobs (`link`), to take jobs (`worker`), or to run a single check (`check`). */
type Purpose = 'link' | 'worker' | 'check';

/**
 * Opens a connection to the configured Redis. `link` and `worker` reconnect until they are closed, and follow a fail-over. `check` connects when
 * `connect()` is called, and does not retry.
 */
export function openRedis(place: RedisPlace, purpose: Purpose): RedisClient {
  if (place.kind === 'cluster') return openCluster(place, purpose);
  if (place.kind === 'server')
    return new Redis(place.url.reveal(), {
      ...optionsFor(purpose),
      ...(place.tls && { tls: tls(place.tls) }),
    });
  const { sentinels, master, sentinelLogin } = place;
  const { username: sentinelUsername, password: sentinelPassword } = loginOptions(sentinelLogin);
  return new Redis({
    ...optionsFor(purpose),
    ...loginOptions(place.login),
    Connector: PersistentSentinelConnector,
    sentinels: sentinels.map((one) => ({ ...one })),
    name: master,
    ...(sentinelUsername === undefined ? {} : { sentinelUsername }),
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    sentinelCommandTimeout: COMMAND_MS,
    sentinelRetryStrategy: purpose === 'check' ? () => null : retryStrategy,
    // A frozen master closes no connection, so only the sentinels know of its fail-over.
    failoverDetector: purpose !== 'check',
    natMap: natMap(place.addresses),
    ...(place.tls && { tls: tls(place.tls), enableTLSForSentinelMode: true }),
    ...(place.tls?.sentinels && { sentinelTLS: tls(place.tls) }),
  });
}

/** Returns a client for one of the sentinels, which connects when `connect()` is called, and does not retry. */
export function openSentinel(
  place: Extract<RedisPlace, { kind: 'sentinel' }>,
  { host, port }: ServerAddress,
): Redis {
  return new Redis({
    ...optionsFor('check'),
    ...loginOptions(place.sentinelLogin),
    host,
    port,
    ...(place.tls?.sentinels && { tls: tls(place.tls) }),
  });
}

function openCluster(place: Extract<RedisPlace, { kind: 'cluster' }>, purpose: Purpose): Cluster {
  // Reconnecting and the offline queue are options of the whole cluster, not of a node.
  const { retryStrategy: _, enableOfflineQueue, lazyConnect = false, ...ofNodes } = optionsFor(purpose);
  return new Cluster([...place.nodes], {
    lazyConnect,
    enableOfflineQueue: enableOfflineQueue ?? true,
    enableReadyCheck: false, // while the check fails, ioredis reconnects without reporting why
    clusterRetryStrategy: purpose === 'check' ? () => null : retryStrategy,
    slotsRefreshInterval: LAYOUT_MS,
    slotsRefreshTimeout: 2_000, // a TLS handshake with each node may take longer than the default of 1 s
    retryDelayOnFailover: 200,
    retryDelayOnClusterDown: 500,
    // A command on the link fails before its timeout, so that the error says what is wrong.
    maxRedirections: purpose === 'worker' ? 16 : 8,
    scaleReads: 'master',
    natMap: natMap(place.addresses),
    // Keeps the names of nodes, because each node's certificate is verified against its name.
    ...(place.tls && { dnsLookup: (host, done) => done(null, host) }),
    redisOptions: { ...ofNodes, ...loginOptions(place.login), ...(place.tls && { tls: tls(place.tls) }) },
  });
}

function optionsFor(purpose: Purpose): ConnectionOptions {
  if (purpose === 'check')
    return { lazyConnect: true, enableReadyCheck: true, maxRetriesPerRequest: 0, retryStrategy: () => null };
  const common = { connectTimeout: COMMAND_MS, retryStrategy };
  if (purpose === 'link')
    return {
      ...common,
      enableOfflineQueue: false,
      enableReadyCheck: false, // it would wait silently while Redis loads its data
      maxRetriesPerRequest: 1,
      commandTimeout: COMMAND_MS,
    };
  return {
    ...common,
    maxRetriesPerRequest: null,
    maxLoadingRetryTime: 1_000,
    reconnectOnError: reconnectWhenReadOnly(() => performance.now()),
  };
}

function loginOptions({ username, password }: RedisLogin): { username?: string; password?: string } {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password: password.reveal() }),
  };
}

function tls({ ca, cert, key }: RedisTls) {
  return {
    ...(ca && { ca: ca.reveal() }),
    ...(cert && { cert: cert.reveal() }),
    ...(key && { key: key.reveal() }),
  };
}

function natMap(addresses: Readonly<Record<string, ServerAddress>>): (key: string) => ServerAddress | null {
  return (key) => addresses[key] ?? null;
}

/** Returns the wait before the next connection attempt, in ms. */
function retryStrategy(times: number): number {
  return Math.min(100 * 2 ** Math.min(times, 10), 2_000);
}
