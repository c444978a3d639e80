import type { Redis } from 'ioredis';
import type { Secret } from '../platform/secret.ts';
import { CarrierUnavailable } from './carrier.ts';
import { askRedis } from './check-redis.ts';

const keyOf = (prefix: string) => `${prefix}:ledger`;

/** Marks in Redis which ledger this installation has: a key that outlives the data directory. */
export async function writeMarker(redis: Redis, prefix: string, ledger: string): Promise<void> {
  await redis.set(keyOf(prefix), ledger);
}

/** Returns the id of the ledger that an installation with this prefix had last; undefined when there is none, or Redis is away. */
export async function readMarker(
  url: Secret,
  prefix: string,
  stop: AbortSignal,
): Promise<string | undefined> {
  try {
    return (await askRedis(url, stop, (redis) => redis.get(keyOf(prefix)))) ?? undefined;
  } catch (error) {
    if (error instanceof CarrierUnavailable) return undefined;
    throw error;
  }
}
