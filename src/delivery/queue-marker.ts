import type { Redis } from 'ioredis';
import type { Secret } from '../platform/options/secret.ts';
import { askRedis } from './check-redis.ts';

const keyOf = (prefix: string) => `${prefix}:ledger`;

/** Marks in Redis which ledger this installation has: a key that outlives the data directory. */
export async function writeMarker(redis: Redis, prefix: string, ledger: string): Promise<void> {
  await redis.set(keyOf(prefix), ledger);
}

/** Returns the id of the ledger that an installation with this prefix had last; undefined when there is none. @throws CarrierUnavailable */
export async function readMarker(
  url: Secret,
  prefix: string,
  stop: AbortSignal,
): Promise<string | undefined> {
  return (await askRedis(url, stop, (redis) => redis.get(keyOf(prefix)))) ?? undefined;
}
