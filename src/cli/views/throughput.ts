import type { RecentAttempt } from '../../ledger/contract/feed-entries.ts';

/** The current throughput of one sink. */
export interface Throughput {
  readonly deliveredPerMinute: number;
  /** Failed attempts. Consecutive attempts with the same failure count as one. */
  readonly failedPerMinute: number;
  /** Median time from first seen to delivered, over the new leads delivered in the last hour; undefined if there are none. */
  readonly speedP50Ms: number | undefined;
  readonly speedP95Ms: number | undefined;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Returns the throughput of every sink in `attempts`, which are the newest `limit` attempts, newest first. If these attempts cover less
 * than a minute, computes the rates over the time that they cover.
 */
export function throughputOf(
  attempts: readonly RecentAttempt[],
  limit: number,
  now: Date,
): ReadonlyMap<string, Throughput> {
  const age = ({ at }: RecentAttempt) => Math.max(0, now.getTime() - at.getTime());
  const oldest = attempts.at(-1);
  const spanMs =
    oldest && attempts.length === limit ? Math.min(MINUTE_MS, Math.max(1, age(oldest))) : MINUTE_MS;
  const perMinute = (some: readonly RecentAttempt[]) => Math.round((some.length * MINUTE_MS) / spanMs);
  const bySink = Map.groupBy(attempts, ({ sink }) => sink);
  return new Map(
    [...bySink].map(([sink, own]) => {
      const recent = own.filter((attempt) => age(attempt) < spanMs);
      const delivered = recent.filter(({ outcome }) => outcome === 'delivered');
      const speeds = own.filter((attempt) => age(attempt) < HOUR_MS).flatMap(({ speedMs }) => speedMs ?? []);
      return [
        sink,
        {
          deliveredPerMinute: perMinute(delivered),
          failedPerMinute: perMinute(recent.filter(({ outcome }) => outcome !== 'delivered')),
          speedP50Ms: percentile(speeds, 0.5),
          speedP95Ms: percentile(speeds, 0.95),
        },
      ];
    }),
  );
}

/** Returns a percentile by the nearest-rank method, which yields one of the values. */
function percentile(values: readonly number[], part: number): number | undefined {
  return values.toSorted((one, other) => one - other)[Math.ceil(values.length * part) - 1];
}
