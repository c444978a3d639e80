import type { RecentAttempt } from '../../ledger/contract/feed-entries.ts';

/** How deliveries to one sink go at this moment. */
export interface Pace {
  readonly deliveredPerMinute: number;
  /** Attempts that failed; those that fail alike one after another count as one. */
  readonly failedPerMinute: number;
  /** From first seen to delivered, of the last new leads that were delivered within an hour; undefined without any. */
  readonly speedP50Ms: number | undefined;
  readonly speedP95Ms: number | undefined;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * The pace of every sink in `attempts`: the latest first, and at most `limit` of them. When these reach back less than a
 * minute, the rates are those of the time that they do reach back.
 */
export function paceOf(
  attempts: readonly RecentAttempt[],
  limit: number,
  now: Date,
): ReadonlyMap<string, Pace> {
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

/** By the nearest rank: a value that was there. */
function percentile(values: readonly number[], part: number): number | undefined {
  return values.toSorted((one, other) => one - other)[Math.ceil(values.length * part) - 1];
}
