import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { parse } from 'yaml';
import type { Scene } from '../support/scene.ts';

/** The names of the jobs that Redis holds for a scene, in whatever state. */
export async function jobsIn(scene: Pick<Scene, 'configFile'>): Promise<string[]> {
  const { queue } = parse(readFileSync(scene.configFile, 'utf8')) as {
    queue: { redis_url: string; prefix: string };
  };
  const redis = new Redis(queue.redis_url);
  try {
    const keys = await redis.keys(`*${queue.prefix}*`);
    // A job's key ends with its id, which is made of a batch's and a lease; what is held for its sake adds to that.
    return keys.flatMap((key) => /:(b[0-9a-z]+-\d+)$/.exec(key)?.[1] ?? []);
  } finally {
    redis.disconnect();
  }
}
