import { askRedis } from './check-redis.ts';
import type { RedisClient } from './open-redis.ts';
import type { RedisPlace } from './options.ts';

const keyOf = (prefix: string) => `${prefix}:ledger`;

/** Records the id of this installation's ledger in Redis, where it survives the loss of the data directory. */
export async function writeMarker(redis: RedisClient, prefix: string, ledger: string): Promise<void> {
  await redis.set(keyOf(prefix), ledger);
}

/** Returns the id of the last ledger of an installation with this prefix; undefined if none is recorded. @throws CarrierUnavailable */
export async function readMarker(
  place: RedisPlace,
  prefix: string,
  stop: AbortSignal,
): Promise<string | undefined> {
  return (await askRedis(place, stop, (redis) => redis.get(keyOf(prefix)))) ?? undefined;
}
