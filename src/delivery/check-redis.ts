import { Redis } from 'ioredis';
import type { Secret } from '../platform/options/secret.ts';
import { DeadlinePassed, withinDeadline } from '../platform/time/deadline.ts';
import { CarrierUnavailable } from './carrier.ts';
import { hintFor, NoAnswer, redisCodeOf } from './redis-failure.ts';

/** How long Redis may take to answer, in ms. */
const ANSWER_MS = 5_000;

/**
 * Proves that a Redis can carry deliveries, without writing to it. Gives a warning where it can, but not well.
 * @throws CarrierUnavailable
 */
export async function checkRedis(url: Secret, stop: AbortSignal): Promise<string | undefined> {
  return warningOf(await askRedis(url, stop, (redis) => redis.info()));
}

/** Asks a Redis something over a connection of its own, within a deadline. @throws CarrierUnavailable */
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
    first ??= error; // says why; what a call rejects with is often only that the connection is closed
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
      'This Redis is a replica, and takes no writes.',
      'Name its master in queue.redis_url.',
    );
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  if (policy === undefined || policy === 'noeviction') return undefined;
  return `its maxmemory-policy is ${policy}, so it may throw jobs away: set it to noeviction`;
}
