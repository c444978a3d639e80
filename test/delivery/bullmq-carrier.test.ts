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
  it('the carrier reports a Redis that is down at the start, rejects offers immediately, and uses Redis once it is up', async () => {
    const port = await freePort();
    const attempts = new Attempts();
    const opened = openBullmq(`redis://127.0.0.1:${port}`, attempts.attempt);
    expect(await failsAfter(opened.carrier, [ref(1)])).toBeLessThan(500);
    await until('the carrier reports it', () => opened.states.some((state) => state.kind === 'disconnected'));
    expect(await failsAfter(opened.carrier, [ref(1)])).toBeLessThan(500);
    expect(opened.carrier.unready()).toContain('ECONNREFUSED');
    await privateRedis([], port);
    await offerUntilTaken(opened.carrier, [ref(1)]);
    await until('it was attempted', () => attempts.ended.length === 1);
    expect(opened.states.at(-1)).toEqual({ kind: 'connected' });
    expect(opened.states.filter((state) => state.kind === 'disconnected')).toHaveLength(1);
  });

  it('no batch is lost when Redis is killed with batches queued and they are offered again', async () => {
    const redis = await privateRedis();
    const attempts = new Attempts();
    attempts.hanging = true;
    const opened = openBullmq(redis.url, attempts.attempt);
    const carrier = await connected(opened);
    const refs = Array.from({ length: 20 }, (_, index) => ref(index));
    await carrier.offer(refs);
    await until('some began', () => attempts.started.length === 3);
    redis.process.kill('SIGKILL');
    await until('the carrier reports it', () => carrier.unready() !== undefined);
    expect(await failsAfter(carrier, refs)).toBeLessThan(500);
    await privateRedis([], redis.port);
    attempts.release();
    await until('it is back', () => carrier.unready() === undefined);
    // The three attempts that had begun are settled in the ledger and not offered again.
    const begun = new Set(attempts.batches);
    await offerUntilTaken(
      carrier,
      refs.filter((one) => !begun.has(one.batch)),
    );
    await until('all were attempted', () => new Set(attempts.batches).size === 20);
    expect(attempts.ended).toHaveLength(20);
  });

  it('the carrier survives a flush of Redis and accepts batches that were offered before', async () => {
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

  it('an offer to a frozen Redis fails within seconds, and the carrier uses Redis again once it resumes', async () => {
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
    await until('the batch is attempted', () => attempts.batches.includes('b2'));
  });

  it('the carrier warns of a Redis that may evict jobs', async () => {
    const redis = await privateRedis(['--maxmemory-policy', 'allkeys-lru']);
    const opened = openBullmq(redis.url, undefined);
    await connected(opened);
    await until('the carrier warns', () => opened.states.some((state) => state.kind === 'warning'));
    expect(opened.states.find((state) => state.kind === 'warning')).toMatchObject({
      reason: expect.stringContaining('allkeys-lru'),
      hint: expect.stringContaining('noeviction'),
    });
  });

  it('the carrier does not warn of a Redis that keeps everything', async () => {
    const opened = openBullmq(requireRedisUrl(), undefined);
    await connected(opened);
    await opened.carrier.offer([ref(1)]);
    expect(opened.states).toEqual([{ kind: 'connected' }]);
  });

  it('the carrier closes although Redis is down or frozen', async () => {
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

  it('the report of a wrong Redis password does not contain it', async () => {
    const redis = await privateRedis(['--requirepass', 'correct-horse']);
    const opened = openBullmq(`redis://:wrong-battery@127.0.0.1:${redis.port}`, undefined);
    await until('the carrier reports it', () => opened.states.some((state) => state.kind === 'disconnected'));
    await expect(opened.carrier.offer([ref(1)])).rejects.toThrow(CarrierUnavailable);
    expect(JSON.stringify(opened.states)).toContain('WRONGPASS');
    expect(JSON.stringify(opened.states)).not.toMatch(/battery|horse/);
  });
});

describe('jobs in Redis', () => {
  it('a job contains only the batch id and its lease', async () => {
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

  it('a job is removed once its batch was attempted', async () => {
    const prefix = uniqueName('carrier');
    const attempts = new Attempts();
    const carrier = await connected(openBullmq(requireRedisUrl(), attempts.attempt, prefix));
    await carrier.offer(Array.from({ length: 50 }, (_, index) => ref(index)));
    await until('all were attempted', () => attempts.ended.length === 50);
    await until('no job is left', async () => (await jobKeys(prefix)).length === 0);
  });

  it('jobs do not pile up while no worker runs: a new lease replaces the old one', async () => {
    const prefix = uniqueName('carrier');
    const carrier = await connected(openBullmq(requireRedisUrl(), undefined, prefix));
    for (let lease = 1; lease <= 20; lease += 1)
      await carrier.offer(
        [1, 2, 3].map((batch) => ({ ...ref(batch, lease), replaces: lease > 1 ? lease - 1 : undefined })),
      );
    expect(await jobKeys(prefix)).toHaveLength(3);
  });

  it('the jobs of a removed sink are deleted; those of the others stay', async () => {
    const prefix = uniqueName('carrier');
    const carrier = await connected(openBullmq(requireRedisUrl(), undefined, prefix));
    await carrier.offer([ref(1), ref(2), ref(3, 1, 'drop')]);
    await carrier.serve(SINKS.filter(({ name }) => name === 'drop'));
    await until('the jobs of the removed sink are gone', async () => (await jobKeys(prefix)).length === 1);
    expect(await jobKeys(prefix)).toEqual([expect.stringContaining(':drop:')]);
  });

  it('the carrier does not take the jobs of another ledger, although its sinks have the same names', async () => {
    const attempts = new Attempts();
    await connected(openBullmq(requireRedisUrl(), attempts.attempt));
    const other = await connected(openBullmq(requireRedisUrl(), undefined));
    await other.offer([ref(1)]);
    await sleep(200); // only waiting can show that nothing happens
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
