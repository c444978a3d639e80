import type {
  ActivityRequest,
  FailureReasons,
  SinkActivity,
  SinkTotals,
} from '../../ledger/contract/sink-activity.ts';
import { KEPT_MS } from '../../ledger/rules/delivering/attempt-sums.ts';
import {
  failureReasonsOf,
  MAX_REASONS_OF_SINK,
  readOfSink,
} from '../../ledger/rules/queries/failure-reasons.ts';
import {
  type AttemptRow,
  activityOf,
  ageRanges,
  type HoldRow,
  MAX_HOLDS,
  MAX_JUDGED,
  MAX_PENDING,
  MAX_READ,
  MAX_REASONS,
  MAX_RECENT,
  type ReasonRow,
  type Slot,
  slotsOf,
  totalsOfSlots,
} from '../../ledger/rules/queries/sink-activity.ts';
import { allSinks, countedSinks } from '../database/sinks.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { DELIVERY_ID } from '../schema/delivery-sql.ts';
import { speedOfSink } from './speed.ts';

/** Returns the activity of a sink; undefined if the ledger does not know the sink. */
export async function sinkActivity(
  tx: Transaction,
  sink: string,
  request: ActivityRequest,
): Promise<SinkActivity | undefined> {
  const row = (await countedSinks(tx)).find(({ name }) => name === sink);
  if (!row) return undefined;
  const { sinkNo } = row;
  const { since, end } = slotsOf(request);
  const kept = tx.now - KEPT_MS;
  const ages: number[] = [];
  for (const [after, until] of ageRanges(request.now))
    ages.push((await tx.first(PENDING, [sinkNo, after, until, MAX_PENDING]))?.deliveries ?? 0);
  return activityOf(request, {
    slots: await tx.rows(SLOTS, [sinkNo, Math.max(since, kept), end]),
    firstSlot: (await tx.first(FIRST_SLOT, [sinkNo, kept]))?.at,
    speed: await speedOfSink(tx, sink, new Date(since)),
    holds: await tx.rows(HOLDS, [sinkNo, MAX_HOLDS]),
    ages,
    pending: row.counts.pending,
    dead: await tx.rows(DEAD_REASONS, [sinkNo, MAX_JUDGED, MAX_REASONS]),
    failed: await tx.rows(FAILED_REASONS, [sinkNo, MAX_JUDGED, MAX_REASONS]),
    recent: await recent(tx, sinkNo),
    recentFailed: await tx.rows(FAILED_ATTEMPTS, [MAX_READ, sinkNo, MAX_RECENT]),
  });
}

/** Returns why deliveries are dead or failed, over all sinks. */
export async function failureReasons(tx: Transaction): Promise<FailureReasons> {
  const sinks = (await countedSinks(tx)).filter(({ counts }) => counts.dead + counts.pending > 0);
  const most = readOfSink(sinks.length);
  const read: Parameters<typeof failureReasonsOf>[0][number][] = [];
  for (const { name: sink, sinkNo } of sinks)
    read.push(
      { sink, state: 'dead', rows: await tx.rows(DEAD_REASONS, [sinkNo, most, MAX_REASONS_OF_SINK]) },
      { sink, state: 'pending', rows: await tx.rows(FAILED_REASONS, [sinkNo, most, MAX_REASONS_OF_SINK]) },
    );
  return failureReasonsOf(read, most);
}

/** Returns the attempts of every sink in a period, from the sums. */
export async function attemptTotals(
  tx: Transaction,
  request: Omit<ActivityRequest, 'stepMs'>,
): Promise<SinkTotals[]> {
  const { since, end } = slotsOf(request);
  const from = Math.max(since, tx.now - KEPT_MS);
  const totals: SinkTotals[] = [];
  for (const { name, sinkNo } of await allSinks(tx))
    totals.push({ sink: name, total: totalsOfSlots(await tx.rows(SLOTS, [sinkNo, from, end])) });
  return totals;
}

/**
 * Returns the last attempts. Each row of sums has the range of `_attempts` that includes its attempts. Ranges overlap where batches were settled at
 * the same time, so that each is read only up to the one before.
 */
async function recent(tx: Transaction, sinkNo: number): Promise<AttemptRow[]> {
  const found: AttemptRow[] = [];
  let [left, before] = [MAX_READ, Number.MAX_SAFE_INTEGER];
  for (const { first, last } of await tx.rows(RANGES, [sinkNo, MAX_RECENT])) {
    if (found.length >= MAX_RECENT || left <= 0) break;
    const until = Math.min(last, before - 1);
    const from = Math.max(first, until - left + 1);
    if (from > until) continue;
    left -= until - from + 1;
    before = from;
    found.push(...(await tx.rows(ATTEMPTS, [from, until, sinkNo, MAX_RECENT - found.length])));
  }
  return found;
}

const SLOTS = statement<Slot>(
  'sums-of-period',
  'SELECT from_at, sums FROM _sink_activity WHERE sink_no = $1 AND from_at >= $2 AND from_at < $3 ORDER BY from_at',
);
const FIRST_SLOT = statement<{ at: number | null }>(
  'first-sums',
  'SELECT min(from_at) AS at FROM _sink_activity WHERE sink_no = $1 AND from_at >= $2',
);
const RANGES = statement<{ first: number; last: number }>(
  'ranges-of-attempts',
  `SELECT (a.sums::json ->> 'first')::bigint AS first, (a.sums::json ->> 'last')::bigint AS last FROM _sink_activity a
   WHERE a.sink_no = $1 AND a.sums::json ->> 'last' IS NOT NULL ORDER BY a.from_at DESC, last DESC LIMIT $2`,
);
const attempts = (name: string, condition: string) =>
  statement<AttemptRow>(
    name,
    `SELECT ${DELIVERY_ID} AS delivery, v.source, v.id::text AS lead, a.started_at, a.duration_ms, a.outcome, a.http_status, a.error,
     coalesce(a.answer <> '', false)::int AS answered, a.times, a.last_at
   FROM _attempts a CROSS JOIN LATERAL (SELECT * FROM _deliveries y WHERE y.delivery_no = a.delivery_no OFFSET 0) d
   JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no
   WHERE ${condition}`,
  );
const ATTEMPTS = attempts(
  'attempts-of-sink',
  'a.attempt_no BETWEEN $1 AND $2 AND d.sink_no = $3 ORDER BY a.attempt_no DESC LIMIT $4',
);
const FAILED_ATTEMPTS = attempts(
  'failed-attempts-of-sink',
  `a.outcome <> 'delivered' AND a.attempt_no > coalesce((SELECT o.attempt_no FROM _attempts o WHERE o.outcome <> 'delivered'
     ORDER BY o.attempt_no DESC OFFSET $1 LIMIT 1), 0) AND d.sink_no = $2 ORDER BY a.attempt_no DESC LIMIT $3`,
);
const HOLDS = statement<HoldRow>(
  'holds-of-sink',
  'SELECT kind, began_at, ended_at, times, reason FROM _sink_holds WHERE sink_no = $1 ORDER BY hold_no DESC LIMIT $2',
);
const PENDING = statement<{ deliveries: number }>(
  'pending-of-age',
  `SELECT count(*) AS deliveries FROM (SELECT 1 FROM _deliveries WHERE sink_no = $1 AND state = 'pending' AND owed_at > $2 AND owed_at <= $3 LIMIT $4) n`,
);

const reasons = (name: string, condition: string, order: string) =>
  statement<ReasonRow>(
    name,
    `SELECT reason, count(*) AS deliveries, (sum(count(*)) OVER ())::bigint AS "all" FROM (SELECT reason FROM _deliveries
     WHERE sink_no = $1 AND ${condition} ORDER BY ${order} LIMIT $2) n GROUP BY reason
     ORDER BY deliveries DESC, reason COLLATE "C" NULLS FIRST LIMIT $3`,
  );
const DEAD_REASONS = reasons('dead-reasons', "state = 'dead'", 'owed_at DESC, delivery_no DESC');
// Without an order among equal times: a retry gives many deliveries the same one, and all of them would have to be read to be sorted.
const FAILED_REASONS = reasons(
  'failed-reasons',
  "state = 'pending' AND reason IS NOT NULL",
  'next_attempt_at',
);
