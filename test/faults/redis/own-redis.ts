import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { type PrivateRedis, startRedis } from '../../support/servers/private-redis.ts';

/** A Redis for one test, to be broken at will. `args` come last, and so have the last word. */
export async function aRedis(
  options: { port?: number; args?: readonly string[] } = {},
): Promise<PrivateRedis> {
  const redis = await startRedis(options);
  onTestFinished(() => redis.close());
  return redis;
}

/** Asks a Redis over a connection of its own. */
export async function ask<T>(url: string, question: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url);
  try {
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}
