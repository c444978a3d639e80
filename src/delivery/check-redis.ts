import { Redis } from 'ioredis';
import type { Secret } from '../platform/options/secret.ts';
import { DeadlinePassed, withinDeadline } from '../platform/time/deadline.ts';
import { CarrierUnavailable } from './carrier.ts';
import { hintFor, NoAnswer, redisCodeOf } from './redis-failure.ts';

/** Maximum time for Redis to answer, in ms. */
const ANSWER_MS = 5_000;

/**
 * Verifies that a Redis can carry deliveries, without writing to it. Returns a warning if its configuration is unsuitable.
 * @throws CarrierUnavailable
 */
export async function checkRedis(url: Secret, stop: AbortSignal): Promise<string | undefined> {
  return warningOf(await askRedis(url, stop, (redis) => redis.info()));
}

/** Runs a command over a separate connection, within a deadline. @throws CarrierUnavailable */
export async function askRedis<T>(
  url: Secret,
  stop: AbortSignal,
  ask: (redis: Redis) => Promise<T>,
): Promise<T> {
  const redis = new Redis(url.reveal(), {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let first: unknown;
  redis.on('error', (error) => {
    first ??= error; // the cause: the command itself often rejects only with "connection is closed"
  });
  try {
    return await withinDeadline(ANSWER_MS, stop, () => redis.connect().then(() => ask(redis)));
  } catch (error) {
    const code = redisCodeOf(error instanceof DeadlinePassed ? new NoAnswer() : (first ?? error));
    throw new CarrierUnavailable(`Redis cannot be used (${code}).`, hintFor(code), error);
  } finally {
    redis.disconnect();
  }
}

function warningOf(info: string): string | undefined {
  if (/^role:slave/m.test(info))
    throw new CarrierUnavailable(
      'This Redis is a replica, which does not accept writes.',
      'Set queue.redis_url to its master.',
    );
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  if (policy === undefined || policy === 'noeviction') return undefined;
  return `its maxmemory-policy is ${policy}, so it may evict jobs: set it to noeviction`;
}
