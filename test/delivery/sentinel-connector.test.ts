// What happens to a client while it asks the sentinels: a frozen sentinel keeps it asking for as long as a test needs.
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openRedis } from '../../src/delivery/open-redis.ts';
import { redisFailure } from '../../src/delivery/redis-failure.ts';
import { startSentinels } from '../support/servers/redis-sentinels.ts';
import { until } from '../support/time/until.ts';

/** Time for a fail-over and for what a client does after it, in ms. */
const PATIENCE_MS = 60_000;
const PASSWORDS = { redis: 'correct-horse', sentinel: 'battery-staple' };

/** Starts servers of which the third sentinel can be frozen, and a place of which it is the first one. */
async function aGroup() {
  const group = await startSentinels(PASSWORDS);
  onTestFinished(() => group.close());
  const [one, two, third] = group.sentinels;
  if (!one || !two || !third) throw new Error('there are not three sentinels');
  onTestFinished(() => void third.process.kill('SIGCONT')); // before the servers are closed
  const place = {
    ...group.place,
    sentinels: [third, one, two].map(({ port }) => ({ host: '127.0.0.1', port })),
  };
  const open = () => {
    const client = openRedis(place, 'worker');
    const failures: string[] = [];
    client.on('error', (error) => failures.push(redisFailure(error).reason));
    onTestFinished(() => client.disconnect());
    return { client, failures };
  };
  return { group, one, third, open };
}

/** Runs commands on one server or sentinel. */
async function ask<T>(port: number, password: string, use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(port, '127.0.0.1', { password });
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}

describe('a client that is asking the sentinels', () => {
  it('follows a fail-over that is announced at that moment', async () => {
    const { group, one, third, open } = await aGroup();
    const { client } = open();
    await until('the client subscribes to announcements', () =>
      ask(one.port, PASSWORDS.sentinel, async (redis) =>
        String(await redis.call('CLIENT', 'LIST')).includes('sub=1'),
      ),
    );
    third.process.kill('SIGSTOP');
    await ask(group.master.port, PASSWORDS.redis, (redis) =>
      redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
    );
    await until('the client asks the frozen sentinel', () => client.status === 'connecting');
    await ask(one.port, PASSWORDS.sentinel, (redis) =>
      redis.call('SENTINEL', 'FAILOVER', group.place.master),
    );
    await until('the replica is the master', async () => (await group.masterPort()) === group.replica.port);
    await until(
      'the client is connected to it',
      async () => {
        if (client.status !== 'ready' || !(client instanceof Redis)) return false;
        return (await client.info('server')).includes(`tcp_port:${group.replica.port}`);
      },
      PATIENCE_MS,
    );
    expect(await client.set('key', 'value')).toBe('OK');
  });

  it('connects when a reconnect is requested at that moment', async () => {
    const { third, open } = await aGroup();
    third.process.kill('SIGSTOP');
    const { client } = open();
    client.disconnect(true);
    third.process.kill('SIGCONT');
    await until('the client is connected', () => client.status === 'ready', PATIENCE_MS);
    expect(await client.set('key', 'value')).toBe('OK');
  });

  it('ends when it is closed at that moment', async () => {
    const { third, open } = await aGroup();
    third.process.kill('SIGSTOP');
    const { client, failures } = open();
    client.disconnect();
    third.process.kill('SIGCONT');
    await until('the client has ended', () => client.status === 'end', PATIENCE_MS);
    expect(failures).toEqual([]);
  });
});

it('names the dead master as the failure, and not the sentinels, which answer', async () => {
  const { group, open } = await aGroup();
  await group.replica.close();
  await group.master.close();
  const { failures } = open();
  // One round asks three sentinels; the next begins at the end of the list.
  await until('the client has tried more than one round', () => failures.length > 6, PATIENCE_MS);
  expect(new Set(failures)).toEqual(new Set(['Redis cannot be reached (ECONNREFUSED).']));
});
