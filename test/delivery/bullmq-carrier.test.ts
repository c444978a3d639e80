import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { CarrierUnavailable } from '../../src/delivery/carrier.ts';
import { freePort } from '../support/servers/server-process.ts';
import { requireRedisUrl, uniqueName } from '../support/servers/services.ts';
import { until } from '../support/time/until.ts';
import { Attempts, carrierContract, ref, SINKS } from './carrier-contract.ts';
import { command, connected, failsAfter, offerUntilTaken, openBullmq, privateRedis } from './open-bullmq.ts';

carrierContract('BullMQ', () => (attempt) => connected(openBullmq(requireRedisUrl(), attempt)));

describe('a Redis in trouble', () => {
  it('that is down at the start is told, makes offers fail at once, and is used as soon as it is there', async () => {
    const port = await freePort();
    const attempts = new Attempts();
    const opened = openBullmq(`redis://127.0.0.1:${port}`, attempts.attempt);
    expect(await failsAfter(opened.carrier, [ref(1)])).toBeLessThan(500);
    await until('it is told', () => opened.states.some((state) => state.kind === 'disconnected'));
    expect(await failsAfter(opened.carrier, [ref(1)])).toBeLessThan(500);
    expect(opened.carrier.unready()).toContain('ECONNREFUSED');
    await privateRedis([], port);
    await offerUntilTaken(opened.carrier, [ref(1)]);
    await until('it was attempted', () => attempts.ended.length === 1);
    expect(opened.states.at(-1)).toEqual({ kind: 'connected' });
    expect(opened.states.filter((state) => state.kind === 'disconnected')).toHaveLength(1);
  });

  it('that is killed while batches are queued loses nothing that is offered again', async () => {
    const redis = await privateRedis();
    const attempts = new Attempts();
    attempts.hanging = true;
    const opened = openBullmq(redis.url, attempts.attempt);
    const carrier = await connected(opened);
    const refs = Array.from({ length: 20 }, (_, index) => ref(index));
    await carrier.offer(refs);
    await until('some began', () => attempts.started.length === 3);
    redis.process.kill('SIGKILL');
    await until('it is told', () => carrier.unready() !== undefined);
    expect(await failsAfter(carrier, refs)).toBeLessThan(500);
    await privateRedis([], redis.port);
    attempts.release();
    await until('it is back', () => carrier.unready() === undefined);
    // The three that had begun are settled in the ledger and offered no more.
    const begun = new Set(attempts.batches);
    await offerUntilTaken(
      carrier,
      refs.filter((one) => !begun.has(one.batch)),
    );
    await until('all were attempted', () => new Set(attempts.batches).size === 20);
    expect(attempts.ended).toHaveLength(20);
  });

  it('that is flushed goes on working, and takes again what was offered before', async () => {
    const redis = await privateRedis();
    const attempts = new Attempts();
    attempts.hanging = true;
    const carrier = await connected(openBullmq(redis.url, attempts.attempt));
    const refs = Array.from({ length: 20 }, (_, index) => ref(index));
    await carrier.offer(refs);
    await until('some began', () => attempts.started.length === 3);
    await command(redis.url, async (client) => {
      await client.flushall();
      await client.script('FLUSH');
    });
    const begun = new Set(attempts.batches);
    attempts.release();
    await carrier.offer(refs.filter((one) => !begun.has(one.batch)));
    await until('all were attempted', () => attempts.ended.length === 20);
    expect(new Set(attempts.batches).size).toBe(20);
  });

  it('that freezes makes an offer fail within seconds, and is used again when it thaws', async () => {
    const redis = await privateRedis();
    const attempts = new Attempts();
    const carrier = await connected(openBullmq(redis.url, attempts.attempt));
    redis.process.kill('SIGSTOP');
    try {
      expect(await failsAfter(carrier, [ref(1)])).toBeLessThan(7_000);
    } finally {
      redis.process.kill('SIGCONT');
    }
    await offerUntilTaken(carrier, [ref(2)]);
    await until('it is at work', () => attempts.batches.includes('b2'));
  });

  it('that may throw jobs away is warned of', async () => {
    const redis = await privateRedis(['--maxmemory-policy', 'allkeys-lru']);
    const opened = openBullmq(redis.url, undefined);
    await connected(opened);
    await until('it is warned of', () => opened.states.some((state) => state.kind === 'warning'));
    expect(opened.states.find((state) => state.kind === 'warning')).toMatchObject({
      reason: expect.stringContaining('allkeys-lru'),
      hint: expect.stringContaining('noeviction'),
    });
  });

  it('that is set to keep everything is not', async () => {
    const opened = openBullmq(requireRedisUrl(), undefined);
    await connected(opened);
    await opened.carrier.offer([ref(1)]);
    expect(opened.states).toEqual([{ kind: 'connected' }]);
  });

  it('that is down or frozen does not keep the carrier from being closed', async () => {
    const redis = await privateRedis();
    const attempts = new Attempts();
    const first = await connected(openBullmq(redis.url, attempts.attempt));
    const second = await connected(openBullmq(redis.url, attempts.attempt));
    redis.process.kill('SIGSTOP');
    const startMs = performance.now();
    await first.close(100);
    redis.process.kill('SIGKILL');
    await second.close(100);
    expect(performance.now() - startMs).toBeLessThan(6_000);
  });

  it('whose password is wrong is told without the password', async () => {
    const redis = await privateRedis(['--requirepass', 'correct-horse']);
    const opened = openBullmq(`redis://:wrong-battery@127.0.0.1:${redis.port}`, undefined);
    await until('it is told', () => opened.states.some((state) => state.kind === 'disconnected'));
    await expect(opened.carrier.offer([ref(1)])).rejects.toThrow(CarrierUnavailable);
    expect(JSON.stringify(opened.states)).toContain('WRONGPASS');
    expect(JSON.stringify(opened.states)).not.toMatch(/battery|horse/);
  });
});

describe('what lies in Redis', () => {
  it('is no more than which batch, and under which lease', async () => {
    const prefix = uniqueName('carrier');
    const carrier = await connected(openBullmq(requireRedisUrl(), undefined, prefix));
    await carrier.offer([ref(1), ref(2, 7, 'drop')]);
    const found = await command(requireRedisUrl(), (client) => dump(client, prefix));
    const jobs = found.flatMap((entry) => (entry.fields?.['data'] ? [JSON.parse(entry.fields['data'])] : []));
    expect(jobs).toHaveLength(2);
    expect(jobs).toEqual(
      expect.arrayContaining([
        { batch: 'b1', lease: 1 },
        { batch: 'b2', lease: 7 },
      ]),
    );
  });

  it('is gone when a batch was attempted', async () => {
    const prefix = uniqueName('carrier');
    const attempts = new Attempts();
    const carrier = await connected(openBullmq(requireRedisUrl(), attempts.attempt, prefix));
    await carrier.offer(Array.from({ length: 50 }, (_, index) => ref(index)));
    await until('all were attempted', () => attempts.ended.length === 50);
    await until('no job is left', async () => (await jobKeys(prefix)).length === 0);
  });

  it('does not pile up while no worker runs: a new lease takes the old one’s place', async () => {
    const prefix = uniqueName('carrier');
    const carrier = await connected(openBullmq(requireRedisUrl(), undefined, prefix));
    for (let lease = 1; lease <= 20; lease += 1)
      await carrier.offer(
        [1, 2, 3].map((batch) => ({ ...ref(batch, lease), replaces: lease > 1 ? lease - 1 : undefined })),
      );
    expect(await jobKeys(prefix)).toHaveLength(3);
  });

  it('is gone of a sink that is taken out, and stays of the others', async () => {
    const prefix = uniqueName('carrier');
    const carrier = await connected(openBullmq(requireRedisUrl(), undefined, prefix));
    await carrier.offer([ref(1), ref(2), ref(3, 1, 'drop')]);
    await carrier.serve(SINKS.filter(({ name }) => name === 'drop'));
    await until('nothing of it is left', async () => (await jobKeys(prefix)).length === 1);
    expect(await jobKeys(prefix)).toEqual([expect.stringContaining(':drop:')]);
  });

  it('of another ledger’s is not touched, though the sinks have the same names', async () => {
    const attempts = new Attempts();
    await connected(openBullmq(requireRedisUrl(), attempts.attempt));
    const other = await connected(openBullmq(requireRedisUrl(), undefined));
    await other.offer([ref(1)]);
    await sleep(200); // that nothing happens can only be waited for
    expect(attempts.started).toEqual([]);
  });
});

interface Entry {
  readonly key: string;
  readonly fields: Record<string, string> | undefined;
}

async function dump(client: Redis, prefix: string): Promise<Entry[]> {
  const keys = await client.keys(`{${prefix}}*`);
  return Promise.all(
    keys.map(async (key) => ({
      key,
      fields: (await client.type(key)) === 'hash' ? await client.hgetall(key) : undefined,
    })),
  );
}

async function jobKeys(prefix: string): Promise<string[]> {
  const found = await command(requireRedisUrl(), (client) => dump(client, prefix));
  return found.filter((entry) => entry.fields && 'data' in entry.fields).map((entry) => entry.key);
}
