import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fastify } from 'fastify';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { addBoard } from '../../src/admin/queue-board.ts';
import { checkRedis } from '../../src/delivery/check-redis.ts';
import type { RedisPlace } from '../../src/delivery/options.ts';
import { readMarker } from '../../src/delivery/queue-owner.ts';
import { Secret } from '../../src/platform/options/secret.ts';
import { type PrivateRedis, startRedis } from '../support/servers/private-redis.ts';
import { startCluster, type TestCluster } from '../support/servers/redis-cluster.ts';
import { startSentinels, type TestSentinels } from '../support/servers/redis-sentinels.ts';
import { type RedisCertificates, redisCertificates } from '../support/servers/redis-tls.ts';
import { freePort } from '../support/servers/server-process.ts';
import { uniqueName } from '../support/servers/services.ts';
import { until } from '../support/time/until.ts';
import { carrierContract } from './carrier-contract.ts';
import { command, connected, openBullmq } from './open-bullmq.ts';

const STOP = new AbortController().signal;
/** A prefix that the pattern of keys in deploy/redis/users.acl covers. */
const prefix = () => `leadsync:${uniqueName('place')}`;
const LOGIN = { username: 'leadsync', password: new Secret('correct-horse') };

/** Returns a file of users with the one of deploy/redis/users.acl; the default user may do everything. */
function usersFile(folder: string): string {
  const shipped = readFileSync(new URL('../../deploy/redis/users.acl', import.meta.url), 'utf8');
  const file = join(folder, 'users.acl');
  writeFileSync(file, shipped.replace('CHANGE_THIS', LOGIN.password.reveal()));
  return file;
}

describe('a Redis with TLS, client certificates and an ACL user', () => {
  let certificates: RedisCertificates;
  let redis: PrivateRedis;
  let place: Extract<RedisPlace, { kind: 'server' }>;
  const folder = mkdtempSync(join(tmpdir(), 'leadsync-users-'));
  const asAdmin = { cert: '', key: '', ca: '' };

  beforeAll(async () => {
    certificates = redisCertificates();
    const port = await freePort();
    redis = await startRedis({ port, args: [...certificates.argsFor(port), '--aclfile', usersFile(folder)] });
    const { ca, cert, key } = certificates.client;
    Object.assign(asAdmin, { ca: ca?.reveal(), cert: cert?.reveal(), key: key?.reveal() });
    const url = new Secret(`rediss://leadsync:correct-horse@127.0.0.1:${port}`);
    place = { kind: 'server', url, tls: certificates.client };
  });
  afterAll(async () => {
    await redis.close();
    certificates.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Returns the commands that Redis has refused to run for its users. */
  const denied = () =>
    command({ port: redis.port, tls: asAdmin }, async (client) => {
      const entries = (await client.acl('LOG')) as unknown[][];
      return entries.map((entry) => entry[entry.indexOf('object') + 1]);
    });

  carrierContract('BullMQ over TLS', () => (attempt) => connected(openBullmq(place, attempt, prefix())));

  it('the permissions in deploy/redis/users.acl are sufficient', async () => {
    const one = prefix();
    const { carrier } = openBullmq(place, async () => undefined, one);
    await connected({ carrier, states: [] });
    expect(await checkRedis(place, STOP)).toBe('Redis answers.');
    await readMarker(place, 'leadsync', STOP);
    expect(await denied()).toEqual([]);
    const app = fastify();
    onTestFinished(() => app.close());
    await addBoard(app, carrier.boardQueues);
    const board = await app.inject('/queues/api/queues?activeQueue=crm&status=active');
    expect(board.json().queues).toContainEqual(expect.objectContaining({ name: 'crm' }));
    // The board then shows no number of workers.
    expect(await denied()).toEqual(['client|list']);
  });

  it('a certificate of an authority that is not trusted is an error with the option to set', async () => {
    const untrusting = { ...place, tls: { ...certificates.client, ca: undefined } };
    await expect(checkRedis(untrusting, STOP)).rejects.toMatchObject({
      message: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT'),
      hint: expect.stringContaining('queue.redis.tls.ca'),
    });
    const opened = openBullmq(untrusting, undefined, prefix());
    await expect.poll(() => opened.carrier.unready()).toContain('has a self-signed TLS certificate');
  });

  it('a missing client certificate is an error with the options to set', async () => {
    const anonymous = { ...place, tls: { ...certificates.client, cert: undefined, key: undefined } };
    await expect(checkRedis(anonymous, STOP)).rejects.toMatchObject({
      hint: expect.stringContaining('queue.redis.tls.cert'),
    });
  });

  it('a new connection uses a replaced certificate', async () => {
    const { carrier } = openBullmq(place, undefined, prefix());
    await connected({ carrier, states: [] });
    const { certFile, keyFile } = certificates.server;
    await command({ port: redis.port, tls: asAdmin }, async (client) => {
      await client.config('SET', 'tls-cert-file', certFile, 'tls-key-file', keyFile);
      await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    });
    await expect.poll(() => carrier.unready(), { timeout: 20_000 }).toBeUndefined();
  });
});

describe('a Redis behind sentinels', () => {
  let group: TestSentinels;
  beforeAll(async () => {
    group = await startSentinels({ redis: 'correct-horse', sentinel: 'battery-staple' });
  });
  afterAll(() => group.close());

  carrierContract('BullMQ behind sentinels', () => (attempt) => connected(openBullmq(group.place, attempt)));

  it('check says what the sentinels answer', async () => {
    expect(await checkRedis(group.place, STOP)).toBe(
      `Redis answers: 3 of 3 sentinels name 127.0.0.1:${group.master.port} as the master "leads", with 1 replica.`,
    );
    const away = { host: '127.0.0.1', port: await freePort() };
    const [first] = group.place.sentinels;
    expect(await checkRedis({ ...group.place, sentinels: [first ?? away, away] }, STOP)).toContain(
      `but the sentinel 127.0.0.1:${away.port} names no master`,
    );
  });

  it('a sentinel that is down writes nothing outside of the log', async () => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    onTestFinished(() => written.mockRestore());
    const away = { host: '127.0.0.1', port: await freePort() };
    const sentinels = [away, ...group.place.sentinels.slice(0, 1)];
    await connected(openBullmq({ ...group.place, sentinels }, undefined));
    const [port] = group.place.sentinels.map((one) => one.port);
    await until('a sentinel has a subscriber', async () => {
      const sentinel = { port: port ?? 0, password: 'battery-staple' };
      return String(await command(sentinel, (one) => one.client('LIST'))).includes('sub=1');
    });
    expect(written).not.toHaveBeenCalled();
  });

  it.each([
    ['an unknown name of the master', { master: 'nobody' }, 'queue.redis.master'],
    [
      'a wrong password of the sentinels',
      { sentinelLogin: { username: undefined, password: new Secret('wrong') } },
      'queue.redis.sentinel_password',
    ],
    [
      'a wrong password of Redis',
      { login: { username: undefined, password: new Secret('wrong') } },
      'password in queue.redis_url or queue.redis',
    ],
    [
      'sentinels that are not running',
      { sentinels: [{ host: '127.0.0.1', port: 1 }] },
      'queue.redis.sentinels',
    ],
  ])('%s is an error with the option to change', async (_, change, hint) => {
    const wrong = { ...group.place, ...change };
    await expect(checkRedis(wrong, STOP)).rejects.toMatchObject({ hint: expect.stringContaining(hint) });
    const opened = openBullmq(wrong, undefined);
    await expect
      .poll(() => opened.states.map((state) => ('hint' in state ? state.hint : '')).join(), {
        timeout: 20_000,
      })
      .toContain(hint);
  });
});

describe.each([
  ['a cluster', false],
  ['a cluster with TLS', true],
])('%s', (name, withTls) => {
  let cluster: TestCluster;
  let certificates: RedisCertificates | undefined;
  beforeAll(async () => {
    certificates = withTls ? redisCertificates() : undefined;
    cluster = await startCluster(certificates ? { certificates } : { password: 'correct-horse' });
  });
  afterAll(async () => {
    await cluster.close();
    certificates?.close();
  });

  carrierContract(
    `BullMQ on ${name}`,
    () => (attempt) => connected(openBullmq(cluster.place, attempt, prefix())),
  );

  it('check says how many masters there are', async () => {
    expect(await checkRedis(cluster.place, STOP)).toBe('Redis answers: a cluster with 3 masters.');
  });

  it('a node of a cluster that is named as a single server is an error with the option to set', async () => {
    const [node] = cluster.place.nodes;
    const password = cluster.place.login.password?.reveal();
    const url = `redis${withTls ? 's' : ''}://${password ? `:${password}@` : ''}127.0.0.1:${node?.port}`;
    const place = { kind: 'server', url: new Secret(url), tls: cluster.place.tls } as const;
    // Each node has a third of the slots, so one of these keys belongs to another node.
    const opened = ['a', 'b', 'c', 'd', 'e', 'f'].map((one) =>
      openBullmq(place, undefined, `${prefix()}${one}`),
    );
    await expect(checkRedis(place, STOP)).rejects.toMatchObject({
      hint: expect.stringContaining('queue.redis.cluster'),
    });
    await expect
      .poll(() => opened.flatMap(({ states }) => states.map((state) => ('hint' in state ? state.hint : ''))))
      .toContainEqual(expect.stringContaining('queue.redis.cluster'));
  });
});
