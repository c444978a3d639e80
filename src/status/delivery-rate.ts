import type { ActivityRequest, SinkTotals } from '../ledger/contract/sink-activity.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The ledger sums attempts up in intervals of this length, in ms. */
const INTERVAL_MS = 10 * MINUTE_MS;

type Request = Omit<ActivityRequest, 'stepMs'>;

/** Returns the requests for the attempts in the current and the previous interval, and in the two intervals an hour before. */
export function rateRequests(now: Date): { readonly now: Request; readonly hourAgo: Request } {
  const periodMs = 2 * INTERVAL_MS;
  return { now: { now, periodMs }, hourAgo: { now: new Date(now.getTime() - HOUR_MS), periodMs } };
}

/** Returns the delivered leads per minute of all sinks together, from the answers to `rateRequests`. */
export function deliveryRate(
  now: Date,
  totals: { readonly now: readonly SinkTotals[]; readonly hourAgo: readonly SinkTotals[] },
) {
  const elapsedMs = INTERVAL_MS + (now.getTime() % INTERVAL_MS);
  return {
    now: (deliveredIn(totals.now) * MINUTE_MS) / elapsedMs,
    hour_ago: (deliveredIn(totals.hourAgo) * MINUTE_MS) / (2 * INTERVAL_MS),
  };
}

function deliveredIn(totals: readonly SinkTotals[]): number {
  return totals.reduce((sum, { total }) => sum + total.delivered, 0);
}
