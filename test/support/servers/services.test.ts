import { Redis } from 'ioredis';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { startRedis } from './private-redis.ts';
import { requireDatabaseUrl, requireRedisUrl, uniqueName } from './services.ts';

describe('servers for the tests', () => {
  it('the tests have a Redis that stores and returns values', async () => {
    const redis = new Redis(requireRedisUrl());
    const key = uniqueName('key');
    await redis.set(key, 'value');
    expect(await redis.get(key)).toBe('value');
    await redis.del(key);
    await redis.quit();
  });

  it('the tests have a PostgreSQL in which they can create a schema', async () => {
    const client = new pg.Client({ connectionString: requireDatabaseUrl() });
    await client.connect();
    const schema = uniqueName('schema');
    await client.query(`create schema ${schema}`);
    await client.query(`drop schema ${schema}`);
    await client.end();
  });

  it('a test can start its own Redis, which is gone once closed and can return on its port', async () => {
    const first = await startRedis();
    await first.close();
    const client = new Redis(first.port, '127.0.0.1', { lazyConnect: true, retryStrategy: null });
    // The check below looks for the refusal itself.
    client.on('error', () => {});
    await expect(client.connect()).rejects.toThrow();
    const second = await startRedis({ port: first.port });
    const again = new Redis(second.url);
    expect(await again.ping()).toBe('PONG');
    await again.quit();
    await second.close();
  });
});
