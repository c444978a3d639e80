import { describe, expect, it } from 'vitest';
import { checkRedis } from '../../src/delivery/check-redis.ts';
import { Secret } from '../../src/platform/options/secret.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { freePort } from '../support/servers/server-process.ts';
import { until } from '../support/time/until.ts';
import { Attempts, ref } from './carrier-contract.ts';
import { command, connected, type Opened, offerUntilTaken, openBullmq, privateRedis } from './open-bullmq.ts';

/** Returns the reports of an unusable Redis, in order. */
function told({ states }: Opened): string[] {
  return states.flatMap((state) => (state.kind === 'disconnected' ? [state.reason] : []));
}

const password = ['--requirepass', 'right'];

describe.each([
  ['a password that is missing', password, '', 'NOAUTH', 'Put the password into queue.redis_url'],
  ['a wrong password', password, ':wrong@', 'WRONGPASS', 'Correct the user name or password'],
  [
    'a user without the permissions',
    ['--user', 'few', 'on', '>right', '~*', '+@connection'],
    'few:right@',
    'NOPERM',
    'deploy/redis/users.acl',
  ],
])('%s', (_, args, login, code, hint) => {
  it('is one sentence with the next step, in `check` and in the log', async () => {
    const { url } = await privateRedis(args);
    const address = url.replace('//', `//${login}`);
    const place = { kind: 'server', url: new Secret(address), tls: undefined } as const;
    await expect(checkRedis(place, new AbortController().signal)).rejects.toMatchObject({
      message: `Redis cannot be used (${code}).`,
      hint: expect.stringContaining(hint),
    });
    const opened = openBullmq(address, undefined);
    await until('the carrier reports it', () => told(opened).length > 0);
    expect(told(opened)).toEqual([expect.stringMatching(new RegExp(`^Redis [^.]+ \\(${code}\\)\\.$`))]);
    expect(opened.states[0]).toMatchObject({ hint: expect.stringContaining(hint) });
  });
});

it('a cluster without slots is reported as down, with the next step', async () => {
  const opened = openBullmq((await privateRedis(['--cluster-enabled', 'yes'])).url, undefined);
  await until('the carrier reports it', () => told(opened).length > 0);
  expect(opened.states[0]).toMatchObject({
    reason: 'Redis is a cluster that is down (CLUSTERDOWN).',
    hint: expect.stringContaining('CLUSTER INFO'),
  });
});

describe('a Redis that is out of memory', () => {
  it('the carrier reports it immediately, keeps batches waiting, and queues them once there is room', async () => {
    const redis = await privateRedis();
    const attempts = new Attempts();
    const opened = openBullmq(redis.url, attempts.attempt);
    const carrier = await connected(opened);
    await command(redis.url, async (client) => {
      await client.config('SET', 'maxmemory', '1');
      await expect(carrier.offer([ref(1)])).rejects.toThrow(/OOM/);
      expect(told(opened)).toEqual([expect.stringMatching(/out of memory/)]);
      expect(carrier.unready()).toMatch(/out of memory/);
      await client.config('SET', 'maxmemory', '0');
    });
    await offerUntilTaken(carrier, [ref(1)]);
    await until('it was attempted', () => attempts.ended.length === 1);
    expect(opened.states.at(-1)).toEqual({ kind: 'connected' });
  });

  it('the carrier reports a Redis that was full before leadsync started, and uses it once there is room', async () => {
    const redis = await privateRedis(['--maxmemory', '1']);
    const opened = openBullmq(redis.url, undefined);
    await until('the carrier reports it', () => told(opened).length > 0);
    expect(told(opened)).toEqual([expect.stringMatching(/out of memory/)]);
    await command(redis.url, (client) => client.config('SET', 'maxmemory', '0'));
    await connected(opened);
  });
});

describe('a Redis that becomes a read-only replica', () => {
  it('the carrier reports it with the next step, and uses it again once it accepts writes', async () => {
    const [redis, other] = [await privateRedis(), await privateRedis()];
    const attempts = new Attempts();
    const opened = openBullmq(redis.url, attempts.attempt);
    const carrier = await connected(opened);
    await carrier.offer([ref(1)]);
    await until('it works', () => attempts.ended.length === 1);
    await command(redis.url, async (client) => {
      await client.replicaof('127.0.0.1', other.port);
      // No offer is needed: every few seconds the carrier checks whether Redis accepts writes.
      await until('the carrier reports it', () => carrier.unready()?.includes('READONLY'), 15_000);
      expect(opened.states.at(-1)).toMatchObject({
        reason: expect.stringContaining('read-only replica'),
        hint: expect.stringContaining('queue.redis_url'),
      });
      await client.replicaof('NO', 'ONE');
    });
    await offerUntilTaken(carrier, [ref(2)]);
    await until('the worker works as well', () => attempts.ended.length === 2, 20_000);
  });

  it('workers do not query it in a busy loop', async () => {
    const [redis, other] = [await privateRedis(), await privateRedis()];
    const attempts = new Attempts();
    attempts.hanging = true;
    const carrier = await connected(openBullmq(redis.url, attempts.attempt));
    await carrier.offer(Array.from({ length: 20 }, (_, index) => ref(index)));
    await until('it works', () => attempts.started.length === 3);
    await command(redis.url, async (client) => {
      await client.replicaof('127.0.0.1', other.port);
      attempts.release();
      await until('the carrier reports it', () => carrier.unready() !== undefined, 15_000);
      await client.config('RESETSTAT');
      await systemClock.sleep(2_000); // only elapsed time shows whether the workers loop
      const [, processed] = /total_commands_processed:(\d+)/.exec(await client.info('stats')) ?? [];
      expect(Number(processed)).toBeLessThan(30);
    });
  });

  it('the carrier follows the Redis name to the new master', async () => {
    const port = await freePort();
    const redis = await privateRedis([], port);
    const attempts = new Attempts();
    const opened = openBullmq(redis.url, attempts.attempt);
    const carrier = await connected(opened);
    // The old master remains as a replica at another address; the name now means a new server.
    await redis.close();
    await privateRedis([], port);
    await offerUntilTaken(carrier, [ref(1)]);
    await until('it was attempted', () => attempts.ended.length === 1, 20_000);
  });
});

describe('a Redis that is loading its data', () => {
  it('the carrier reports that it is loading, and uses it once it is done', async () => {
    const port = await freePort();
    const dir = tempDir();
    const before = await privateRedis(['--dir', dir], port);
    await command(before.url, async (client) => {
      await client.mset(Object.fromEntries(Array.from({ length: 300 }, (_, key) => [`key-${key}`, 'x'])));
      await client.save();
    });
    const attempts = new Attempts();
    const opened = openBullmq(before.url, attempts.attempt);
    const carrier = await connected(opened);
    await before.close();
    // 10 ms per key: for three seconds it is up and answers LOADING.
    const slow = ['--key-load-delay', '10000', '--loading-process-events-interval-bytes', '1024'];
    await privateRedis(['--dir', dir, ...slow], port);
    await until('the carrier reports it', () => told(opened).some((reason) => reason.includes('LOADING')));
    await offerUntilTaken(carrier, [ref(1)]);
    await until('it was attempted', () => attempts.ended.length === 1);
  });
});
