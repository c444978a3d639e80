import { allSinks, lockSink, writeHealth } from '../database/sinks.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** Returns when the latest poll began, or when `moveBack` last ran if that was later. */
export async function clockAt(tx: Transaction): Promise<Date> {
  return new Date((await tx.first(CLOCK_AT))?.at ?? 0);
}

/**
 * Moves stored times back by a number of whole milliseconds after the clock was set back, in one transaction, so that no process moves anything
 * twice. Returns how many deliveries it moved.
 */
export async function moveBack(tx: Transaction, byMs: number): Promise<number> {
  tx.requireOwingLock();
  await tx.rows(LOCK_BATCHES);
  for (const { sinkNo } of await allSinks(tx)) await moveSink(tx, sinkNo, byMs);
  const moved = await tx.run(MOVE_DELIVERIES, [tx.now, byMs]);
  await tx.run(MOVE_BATCHES, [tx.now, byMs]);
  // A complete listing with a time in the future would count as fresh until the clock reaches that time again.
  await tx.run(MOVE_COMPLETE, [tx.now, byMs]);
  await tx.run(MOVE_COUNTS, [tx.now]);
  await tx.run(MOVE_CHANGES, [tx.now]);
  await tx.run(SET_CLOCK_AT, [tx.now]);
  await tx.run(RECORD_STEP, [tx.now + byMs, tx.now]);
  return moved;
}

async function moveSink(tx: Transaction, sinkNo: number, byMs: number): Promise<void> {
  const { health } = await lockSink(tx, sinkNo);
  const earlier = (date: Date | undefined) =>
    date && new Date(Math.min(date.getTime(), Math.max(tx.now, date.getTime() - byMs)));
  await writeHealth(tx, sinkNo, {
    ...health,
    probeAt: earlier(health.probeAt),
    lastDeliveredAt: earlier(health.lastDeliveredAt),
    refusingSince: earlier(health.refusingSince),
  });
}

const CLOCK_AT = statement<{ at: number }>('clock-at', 'SELECT clock_at AS at FROM _ledger');
const SET_CLOCK_AT = statement('set-clock-at', 'UPDATE _ledger SET clock_at = $1');
const RECORD_STEP = statement('record-step', 'INSERT INTO _clock_set_back (from_at, to_at) VALUES ($1, $2)');
const LOCK_BATCHES = statement('lock-all-batches', 'SELECT 1 FROM _batches ORDER BY batch_no FOR UPDATE');
const MOVE_DELIVERIES = statement(
  'move-deliveries',
  `UPDATE _deliveries SET next_attempt_at = greatest($1, next_attempt_at - $2) WHERE state = 'pending' AND next_attempt_at > $1`,
);
const MOVE_BATCHES = statement(
  'move-batches',
  'UPDATE _batches SET leased_until = greatest($1, leased_until - $2) WHERE leased_until > $1',
);
const MOVE_COMPLETE = statement(
  'move-complete',
  'UPDATE _sources SET complete_at = least($1, complete_at - $2) WHERE complete_at > $1',
);
const MOVE_COUNTS = statement(
  'move-counts',
  'UPDATE _sink_counts SET delivered_at = $1 WHERE delivered_at > $1',
);
const MOVE_CHANGES = statement(
  'move-count-changes',
  'UPDATE _count_changes SET delivered_at = $1 WHERE delivered_at > $1',
);
