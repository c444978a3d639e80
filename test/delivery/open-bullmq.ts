import { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import { BullmqCarrier, type CarrierState } from '../../src/delivery/bullmq-carrier.ts';
import { type AttemptBatch, CarrierUnavailable } from '../../src/delivery/carrier.ts';
import type { RedisPlace } from '../../src/delivery/options.ts';
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
  redis: string | RedisPlace,
  attempt: AttemptBatch | undefined,
  prefix = uniqueName('carrier'),
): Opened {
  const states: CarrierState[] = [];
  const carrier = new BullmqCarrier({
    redis: typeof redis === 'string' ? { kind: 'server', url: new Secret(redis), tls: undefined } : redis,
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

/** Runs commands on a Redis over a separate connection: by its address, or on loopback with TLS. */
export async function command<T>(
  redis:
    | string
    | { readonly port: number; readonly tls: { ca: string; cert: string; key: string } }
    | { readonly port: number; readonly password: string },
  use: (redis: Redis) => Promise<T>,
): Promise<T> {
  const client = typeof redis === 'string' ? new Redis(redis) : new Redis({ host: '127.0.0.1', ...redis });
  try {
    return await use(client);
  } finally {
    client.disconnect();
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
