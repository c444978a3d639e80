import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Scene } from '../../support/scene/scene.ts';
import { ask } from './own-redis.ts';

/** Returns the ids of the jobs that Redis holds for a scene (or for one of its sinks), in any state. */
export async function jobsIn(scene: Pick<Scene, 'configFile'>, sink = ''): Promise<string[]> {
  const { queue } = parse(readFileSync(scene.configFile, 'utf8')) as {
    queue: { redis_url: string; prefix: string };
  };
  const keys = await ask(queue.redis_url, (redis) => redis.keys(`*${queue.prefix}*${sink}*`));
  // A job's key ends with its id, which consists of the batch id and the lease; auxiliary keys append to that.
  return keys.flatMap((key) => /:(b[0-9a-z]+-\d+)$/.exec(key)?.[1] ?? []);
}
