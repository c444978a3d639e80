import type { Troubles } from './repeats.ts';
import type { WatchedRequest } from './watched-receiver.ts';

/** Limits of a sink whose requests are batches. */
export interface Rate {
  readonly perSecond: number;
  /** Maximum batches that wait for a process that stands still, and then arrive together. */
  readonly concurrency: number;
}

/** The lengths of the periods in which requests are counted, in s. */
const PERIODS_S = [1, 3, 10];
/** Maximum time by which one batch is sent later after its claim than another, and the precision of that time, in s. */
const LATE_S = 1;
/** Maximum time until a process that has ended delivers again, in ms. */
const STARTED_WITHIN_MS = 5_000;

/**
 * Returns the period in which a webhook got the most requests beyond its sink's `rate`; empty if none. Counting starts again with each
 * process, and a reload is no new process.
 */
export function tooFast(
  sink: string,
  requests: readonly WatchedRequest[],
  { perSecond, concurrency }: Rate,
  { ends }: Pick<Troubles, 'ends'>,
): string[] {
  // When they were sent: a busy receiver notices many at once.
  const sent = requests.map(({ sentMs }) => sentMs);
  const periods = PERIODS_S.flatMap((seconds) =>
    sent.map((fromMs) => {
      const toMs = fromMs + seconds * 1_000;
      const count = sent.filter((atMs) => atMs >= fromMs && atMs < toMs).length;
      const starts = ends.filter(({ atMs }) => atMs > fromMs - STARTED_WITHIN_MS && atMs < toMs).length;
      return { seconds, count, most: perSecond * (seconds + LATE_S + starts) + concurrency };
    }),
  );
  const worst = periods.toSorted((a, b) => a.most - a.count - (b.most - b.count))[0];
  if (worst === undefined || worst.count <= worst.most) return [];
  return [`${sink}: ${worst.count} requests within ${worst.seconds} s, and ${worst.most} are the most`];
}
