import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { type PrivateRedis, startRedis } from '../../support/servers/private-redis.ts';

/** Starts a Redis for one test to break. `args` come last and therefore override the defaults. */
export async function aRedis(
  options: { port?: number; args?: readonly string[] } = {},
): Promise<PrivateRedis> {
  const redis = await startRedis(options);
  onTestFinished(() => redis.close());
  return redis;
}

/** Queries a Redis over a separate connection. */
export async function ask<T>(url: string, question: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url);
  try {
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}
