import { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import { BullmqCarrier, type CarrierState } from '../../src/delivery/bullmq-carrier.ts';
import { type AttemptBatch, CarrierUnavailable } from '../../src/delivery/carrier.ts';
import type { BatchRef } from '../../src/leads/delivery.ts';
import { Secret } from '../../src/platform/options/secret.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { type PrivateRedis, startRedis } from '../support/servers/private-redis.ts';
import { uniqueName } from '../support/servers/services.ts';
import { until } from '../support/time/until.ts';
import { SINKS } from './carrier-contract.ts';

/** A carrier and the states that it reported. */
export interface Opened {
  readonly carrier: BullmqCarrier;
  readonly states: CarrierState[];
}

/** Opens a carrier for the sinks of the contract; it closes when the test ends. */
export function openBullmq(
  redisUrl: string,
  attempt: AttemptBatch | undefined,
  prefix = uniqueName('carrier'),
): Opened {
  const states: CarrierState[] = [];
  const carrier = new BullmqCarrier({
    redisUrl: new Secret(redisUrl),
    prefix: `{${prefix}}`,
    attempt,
    clock: systemClock,
    onState: (state) => states.push(state),
  });
  void carrier.serve(SINKS);
  onTestFinished(() => carrier.close(0));
  return { carrier, states };
}

/** Waits until the carrier's Redis can be used. */
export async function connected(opened: Opened): Promise<BullmqCarrier> {
  await until('the carrier is connected', () => opened.carrier.unready() === undefined);
  return opened.carrier;
}

/** Starts a Redis for one test. */
export async function privateRedis(args: readonly string[] = [], port?: number): Promise<PrivateRedis> {
  const redis = await startRedis({ args, ...(port === undefined ? {} : { port }) });
  onTestFinished(() => redis.close());
  return redis;
}

/** Runs commands on a Redis over a separate connection. */
export async function command<T>(url: string, use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url);
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}

/** Returns how long an offer takes to fail, in ms. */
export async function failsAfter(carrier: BullmqCarrier, refs: readonly BatchRef[]): Promise<number> {
  const startMs = performance.now();
  await expect(carrier.offer(refs)).rejects.toThrow(CarrierUnavailable);
  return performance.now() - startMs;
}

/** Repeats the offer until the carrier accepts it, as the daemon does. */
export async function offerUntilTaken(carrier: BullmqCarrier, refs: readonly BatchRef[]): Promise<void> {
  await until('the offer is taken', () => carrier.offer(refs).then(() => true));
}
