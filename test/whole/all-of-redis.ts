import { Redis } from 'ioredis';

/** Returns everything that Redis holds under keys with this text in their name: names and values, as text. */
export async function allOfRedis(url: string, name: string): Promise<string> {
  const redis = new Redis(url);
  try {
    const keys = await redis.keys(`*${name}*`);
    const values = await Promise.all(keys.map((key) => dump(redis, key)));
    return JSON.stringify([keys, values]);
  } finally {
    redis.disconnect();
  }
}

async function dump(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'hash':
      return redis.hgetall(key);
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'zset':
      return redis.zrange(key, '0', '-1');
    case 'set':
      return redis.smembers(key);
    case 'stream':
      return redis.xrange(key, '-', '+');
    default:
      return redis.get(key);
  }
}
