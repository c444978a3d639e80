import type { Random } from '../platform/time/clock.ts';

/** When the next attempt is due, counted from the one that failed. */
export interface RetryPolicy {
  /** The wait after the first, second … counted attempt, in ms. After the last one a delivery is dead. */
  readonly scheduleMs: readonly number[];
  /** 0.2 spreads each wait by up to 20 % either way. */
  readonly jitter: number;
}

/** The wait after `attempts` counted attempts, in ms; undefined when the schedule is used up. */
export function retryWaitMs(policy: RetryPolicy, attempts: number, random: Random): number | undefined {
  const wait = policy.scheduleMs[attempts - 1];
  return wait === undefined ? undefined : spread(wait, policy.jitter, random);
}

/** A wait that doubles from `firstMs` with each step (0, 1, …) up to `mostMs`, spread by 20 % either way. */
export function backOffMs(step: number, firstMs: number, mostMs: number, random: Random): number {
  return spread(Math.min(firstMs * 2 ** Math.min(step, 30), mostMs), 0.2, random);
}

function spread(ms: number, jitter: number, random: Random): number {
  return Math.round(ms * (1 + jitter * (2 * random() - 1)));
}
