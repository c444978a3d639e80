import type { Asked } from '../database/flight.ts';
import { allSinks, lockSink, writeHealth } from '../database/sinks.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { inOrder } from './lock-batches.ts';

/** Maximum number of deliveries moved in one transaction. */
const MOVE_CHUNK = 2_000;

/** What the ledger knows about the clock of its server. */
export interface LedgerClock {
  /** The latest time that was recorded, in ms since 1970. */
  readonly clock_at: number;
  /** By how much the clock was set back in all, as far as times in the ledger were moved for it, in ms. */
  readonly set_back_ms: number;
  /** By how much it was set ahead in all, as far as leases were moved for it, in ms. */
  readonly set_ahead_ms: number;
  /** What the clock showed when this was read, in ms since 1970. */
  readonly read_at: number;
}

/**
 * Returns the latest time that was recorded. It is later than the time that the clock shows if the clock was set back and no process has detected
 * that yet.
 */
export async function clockAt(tx: Transaction): Promise<Date> {
  return new Date(((await tx.first(CLOCK)) as LedgerClock).clock_at);
}

/** Returns the statement that reads the latest recorded time, what the clock shows now, and how far the clock was set so far, in one row. */
export function askClock(): Asked<LedgerClock> {
  return { sql: CLOCK, values: [] };
}

/** Returns the same as `askClock` reads, but locks the row of the clock until the end of the transaction, which may then move times. */
export async function lockClock(tx: Transaction): Promise<LedgerClock> {
  tx.requireOwingLock();
  return (await tx.first(LOCK_CLOCK)) as LedgerClock;
}

/**
 * Records the time that the clock shows now. Does not use the time of the transaction, which may be from before a step of the clock that another
 * process has already followed.
 */
export async function recordClock(tx: Transaction): Promise<void> {
  await tx.run(RECORD_CLOCK);
}

/**
 * Moves stored times back by a whole number of milliseconds after the clock was set back, except those of deliveries that are in no batch, which
 * `moveChunk` moves. Returns the number of deliveries whose times it moved.
 */
export async function moveBack(tx: Transaction, byMs: number): Promise<number> {
  await tx.rows(LOCK_SOURCES);
  // A complete listing with a time in the future would count as fresh until the clock reaches that time again.
  await tx.run(MOVE_COMPLETE, [tx.now, byMs]);
  const batches = (await tx.rows(LOCK_BATCHES)).map(({ batch_no }) => batch_no);
  await tx.run(MOVE_BATCHES, [tx.now, byMs, batches]);
  for (const { sinkNo } of await allSinks(tx)) await moveSink(tx, sinkNo, byMs);
  const moved = await tx.run(MOVE_BATCHED, [tx.now, byMs, batches]);
  await tx.run(MOVE_COUNTS, [tx.now]);
  await tx.run(MOVE_CHANGES, [tx.now]);
  await tx.run(SET_CLOCK, [tx.now, byMs, 0]);
  await tx.run(RECORD_STEP, [tx.now + byMs, tx.now]);
  return moved;
}

/** Moves the leases of all attempts ahead after the clock was set ahead, so that none of them expires. */
export async function moveAhead(tx: Transaction, byMs: number): Promise<void> {
  await tx.run(MOVE_LEASES, [byMs, tx.now - byMs]);
  await tx.run(SET_CLOCK, [tx.now, 0, byMs]);
}

/** Whether deliveries are left to be moved, by whichever process. */
export async function isMoving(tx: Transaction): Promise<boolean> {
  return (await tx.first(NEXT_STEP)) !== undefined;
}

/**
 * Moves one chunk of the deliveries that were not due when the clock was set back and are in no batch. The ledger keeps the position, so that any
 * process can go on, and none moves a delivery twice. Returns how many it moved; undefined if none is left.
 */
export async function moveChunk(tx: Transaction): Promise<number | undefined> {
  tx.requireOwingLock();
  const step = await tx.first(NEXT_STEP);
  if (!step) return undefined;
  let moved = 0;
  for (const { sinkNo } of await allSinks(tx)) {
    if (sinkNo < step.sink_no) continue;
    const isBegun = sinkNo === step.sink_no;
    const from = isBegun ? [step.due_at, step.delivery_no] : [step.to_at, Number.MAX_SAFE_INTEGER];
    const later = await tx.rows(LATER, [sinkNo, ...from, MOVE_CHUNK - moved]);
    const numbers = later.map(({ delivery_no }) => delivery_no);
    if (numbers.length > 0) await tx.run(MOVE, [tx.now, step.from_at - step.to_at, numbers]);
    moved += later.length;
    const last = later.at(-1);
    if (last && moved >= MOVE_CHUNK) {
      await tx.run(SET_POSITION, [step.step_no, sinkNo, last.next_attempt_at, last.delivery_no]);
      return moved;
    }
  }
  await tx.run(END_STEP, [step.step_no]);
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

const CLOCK = statement<LedgerClock>(
  'clock',
  'SELECT clock_at, set_back_ms, set_ahead_ms, _now() AS read_at FROM _ledger',
);
const LOCK_CLOCK = statement<LedgerClock>(
  'lock-clock',
  'SELECT clock_at, set_back_ms, set_ahead_ms, _now() AS read_at FROM _ledger FOR UPDATE',
);
const RECORD_CLOCK = statement(
  'record-clock',
  'UPDATE _ledger SET clock_at = _now() WHERE clock_at < _now()',
);
const SET_CLOCK = statement(
  'set-clock',
  'UPDATE _ledger SET clock_at = $1, set_back_ms = set_back_ms + $2::bigint, set_ahead_ms = set_ahead_ms + $3::bigint',
);
const RECORD_STEP = statement('record-step', 'INSERT INTO _clock_set_back (from_at, to_at) VALUES ($1, $2)');
const LOCK_SOURCES = statement('lock-all-sources', 'SELECT 1 FROM _sources ORDER BY source FOR UPDATE');
const LOCK_BATCHES = statement<{ batch_no: number }>(
  'lock-all-batches',
  'SELECT batch_no FROM _batches ORDER BY batch_no FOR UPDATE',
);
const MOVE_BATCHED = statement(
  'move-batched',
  'UPDATE _deliveries SET next_attempt_at = greatest($1, next_attempt_at - $2) WHERE batch_no = ANY ($3::bigint[]) AND next_attempt_at > $1',
);
const MOVE_BATCHES = statement(
  'move-batches',
  'UPDATE _batches SET leased_until = greatest($1, leased_until - $2) WHERE batch_no = ANY ($3::bigint[]) AND leased_until > $1',
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
const MOVE_LEASES = statement(
  'move-leases',
  `UPDATE _batches SET leased_until = leased_until + $1 WHERE ${inOrder('b.leased_until > $2 AND b.lease <> 0 AND b.holder IS NOT NULL')}`,
);
const NEXT_STEP = statement<{
  step_no: number;
  from_at: number;
  to_at: number;
  sink_no: number;
  due_at: number;
  delivery_no: number;
}>(
  'next-step',
  `SELECT step_no, from_at, to_at, sink_no, due_at, delivery_no FROM _clock_set_back WHERE NOT is_done ORDER BY step_no LIMIT 1`,
);
// In the order of the index. Moved rows are due earlier than the rows of the next chunk, so that no later chunk finds them again.
const LATER = statement<{ delivery_no: number; next_attempt_at: number }>(
  'later-deliveries',
  `SELECT d.delivery_no, d.next_attempt_at FROM _deliveries d WHERE d.sink_no = $1 AND d.state = 'pending' AND d.batch_no IS NULL
   AND (d.next_attempt_at, d.delivery_no) > ($2, $3) ORDER BY d.next_attempt_at, d.delivery_no LIMIT $4`,
);
const MOVE = statement(
  'move-deliveries',
  `UPDATE _deliveries SET next_attempt_at = greatest($1, next_attempt_at - $2) WHERE delivery_no = ANY (ARRAY(SELECT d.delivery_no FROM _deliveries d
     WHERE d.delivery_no = ANY ($3::bigint[]) AND coalesce(d.state, '') = 'pending' AND d.batch_no IS NULL AND d.next_attempt_at > $1
     ORDER BY d.delivery_no FOR UPDATE))`,
);
const SET_POSITION = statement(
  'set-position-of-step',
  'UPDATE _clock_set_back SET sink_no = $2, due_at = $3, delivery_no = $4 WHERE step_no = $1',
);
const END_STEP = statement('end-step', 'UPDATE _clock_set_back SET is_done = true WHERE step_no = $1');
