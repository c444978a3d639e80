import {
  type CancelStep,
  CHUNK,
  isCancellable,
  type ReplayedRow,
  totalsOf,
} from '../../ledger/rules/control/cancelling.ts';
import { CANCELLED, REPLACED } from '../../ledger/rules/delivering/superseding.ts';
import { findSink, type Sink } from '../database/sinks.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { lockDeliveries } from '../delivering/lock-deliveries.ts';
import { END_EMPTY, SKIP } from '../delivering/superseding.ts';

/** Ends the sink's replays that have not yet recorded all of their leads as owed. Returns false if there is no such sink. */
export async function stop(tx: Transaction, name: string): Promise<boolean> {
  tx.requireOwingLock();
  const sink = await findSink(tx, name);
  if (!sink) return false;
  await tx.run(STOP, [sink.sinkNo]);
  return true;
}

/** Returns what `cancel` would return for the same arguments. Only reads. */
export async function countCancellable(tx: Transaction, name: string, after: number): Promise<CancelStep> {
  const sink = await findSink(tx, name);
  if (!sink) return stepOf([], []);
  const numbers = await nextReplayed(tx, sink, after);
  return stepOf(numbers, await judged(tx, sink, numbers));
}

/** Makes one step: reads the next pending deliveries of replays after the number `after`, and cancels those that can be cancelled. */
export async function cancel(tx: Transaction, name: string, after: number): Promise<CancelStep> {
  tx.requireOwingLock();
  const sink = await findSink(tx, name);
  if (!sink) return stepOf([], []);
  const numbers = await nextReplayed(tx, sink, after);
  await lockDeliveries(tx, numbers);
  const rows = await judged(tx, sink, numbers);
  const cancelled = rows.filter(isCancellable);
  if (cancelled.length > 0) {
    await tx.run(SKIP, [CANCELLED, tx.now, cancelled.map(({ delivery_no }) => delivery_no)]);
    await tx.run(END_EMPTY, [cancelled.flatMap(({ batch_no }) => batch_no ?? [])]);
  }
  tx.count(sink.sinkNo, 'pending', -cancelled.length);
  tx.count(sink.sinkNo, 'skipped', cancelled.length);
  return stepOf(numbers, rows);
}

async function nextReplayed(tx: Transaction, { sinkNo }: Sink, after: number): Promise<number[]> {
  return (await tx.rows(NEXT, [sinkNo, after, CHUNK])).map(({ delivery_no }) => delivery_no);
}

function judged(tx: Transaction, { events }: Sink, numbers: readonly number[]): Promise<ReplayedRow[]> {
  return tx.rows(REPLAYED, [numbers, events.includes('updated')]);
}

/** A delivery that was settled before it was locked is not among `rows`, but the next step begins after it, too. */
function stepOf(numbers: readonly number[], rows: readonly ReplayedRow[]): CancelStep {
  return { ...totalsOf(rows), next: numbers.length === CHUNK ? numbers.at(-1) : undefined };
}

/** The deliveries, under an alias, of the same lead to the same sink as the delivery `d` of the version `v`. */
const others = (alias: string) =>
  `_versions ${alias}v JOIN _deliveries ${alias} ON ${alias}.version_no = ${alias}v.version_no AND ${alias}.sink_no = d.sink_no
   WHERE ${alias}v.source = v.source AND ${alias}v.id = v.id AND ${alias}.event <> 'erased'`;

/** Whether the delivery with this alias has a version that was recorded after its replay was requested. */
const isOfChange = (alias: string) => `${alias}.version_no > coalesce(
  (SELECT min(r.bound) FROM _replays r WHERE r.sink_no = ${alias}.sink_no AND r.asked_at = ${alias}.replay), 0)`;

/**
 * Whether the replay replaced a delivery that waited for a retry, and no other delivery has taken its place since. The replaced delivery did
 * not belong to a replay itself, unless it carried a change that the sink was owed.
 */
const REPLACED_ANOTHER = `EXISTS (SELECT 1 FROM ${others('o')} AND o.delivery_no < d.delivery_no AND coalesce(o.state, '') = 'skipped' AND o.reason = '${REPLACED}'
  AND (o.replay = 0 OR (${isOfChange('o')} AND ($2::boolean OR NOT EXISTS (SELECT 1 FROM ${others('h')} AND coalesce(h.state, '') = 'delivered'))))
  AND NOT EXISTS (SELECT 1 FROM ${others('f')} AND f.delivery_no > o.delivery_no AND f.delivery_no <> d.delivery_no
    AND (f.state <> 'skipped' OR f.discarded = 1) AND (f.replay = 0 OR f.state = 'delivered')))`;

/**
 * Whether the lead changed after the replay was requested, and the replay carries the new version, which the sink gets in no other delivery. A
 * sink that does not subscribe to updates needs the new version only if it has no version of the lead.
 */
const CARRIES_CHANGE = `(${isOfChange('d')}
  AND NOT EXISTS (SELECT 1 FROM ${others('g')} AND g.delivery_no <> d.delivery_no
    AND CASE WHEN $2 THEN g.version_no = d.version_no AND g.state <> 'skipped' AND (g.replay = 0 OR g.state = 'delivered') ELSE g.state = 'delivered' END))`;

const STOP = statement(
  'stop-replays',
  'UPDATE _replays SET through = bound WHERE sink_no = $1 AND through < bound',
);

const NEXT = statement<{ delivery_no: number }>(
  'next-replayed',
  `SELECT delivery_no FROM _deliveries WHERE sink_no = $1 AND state = 'pending' AND replay > 0 AND delivery_no > $2 ORDER BY delivery_no LIMIT $3`,
);

// coalesce() rules out the indexes of all deliveries in a state.
const REPLAYED = statement<ReplayedRow>(
  'replayed',
  `SELECT d.delivery_no, d.batch_no,
   (b.holder IS NOT NULL OR (d.unsure_at IS NOT NULL AND EXISTS
     (SELECT 1 FROM _deliveries e WHERE e.batch_no = d.batch_no AND e.delivery_no <> d.delivery_no)))::int AS attempted,
   (${REPLACED_ANOTHER} OR ${CARRIES_CHANGE})::int AS needed
   FROM _deliveries d JOIN _versions v ON v.version_no = d.version_no LEFT JOIN _batches b ON b.batch_no = d.batch_no
   WHERE d.delivery_no = ANY ($1::bigint[]) AND coalesce(d.state, '') = 'pending' ORDER BY d.delivery_no`,
);
