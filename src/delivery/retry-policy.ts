import type { BreakerPolicy } from '../leads/breaker-policy.ts';
import type { Random } from '../platform/time/clock.ts';

/** When the next attempt is due after a failed attempt. */
export interface RetryPolicy {
  /** The waits after the first, second … counted attempt, in ms. If the attempt after the last wait fails, the delivery is dead. */
  readonly scheduleMs: readonly number[];
  /** Maximum random deviation of each wait, as a fraction: 0.2 is ±20%. */
  readonly jitter: number;
}

/** The policies by which the attempts of a sink are judged. Without `breaker`, the default applies. */
export interface SinkPolicy extends RetryPolicy {
  readonly breaker?: BreakerPolicy | undefined;
}

/** Returns the wait after `attempts` counted attempts, in ms; undefined at the end of the schedule. */
export function retryWaitMs(policy: RetryPolicy, attempts: number, random: Random): number | undefined {
  const wait = policy.scheduleMs[attempts - 1];
  return wait === undefined ? undefined : spread(wait, policy.jitter, random);
}

/** Returns a wait that doubles from `firstMs` with each step (0, 1, …) up to `mostMs`, with a jitter of 20%, in ms. */
export function backOffMs(step: number, firstMs: number, mostMs: number, random: Random): number {
  return spread(Math.min(firstMs * 2 ** Math.min(step, 30), mostMs), 0.2, random);
}

function spread(ms: number, jitter: number, random: Random): number {
  return Math.round(ms * (1 + jitter * (2 * random() - 1)));
}
