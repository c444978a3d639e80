import type { DeliveryState } from '../../leads/delivery.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';
import { storable } from '../../leads/storable-text.ts';
import type { ActionGroup, DiscardNote } from '../../ledger/contract/ledger-control.ts';
import { discardReason, resumed } from '../../ledger/rules/control/operator-actions.ts';
import { findSink, lockSink, type Sink, writeHealth } from '../database/sinks.ts';
import { statement, texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { OVERTAKEN } from '../delivering/content-order-sql.ts';
import { someBatches } from '../delivering/lock-batches.ts';
import { lockDeliveries } from '../delivering/lock-deliveries.ts';
import { recordHolds } from '../delivering/sink-activity.ts';

/** Maximum number of deliveries that one transaction makes due before a probe, except that it takes whole batches. */
const HURRY_CHUNK = 1_000;

/** A delivery that an action changes, as it was before. */
interface ChangedRow {
  readonly delivery_no: number;
  readonly batch_no: number | null;
  readonly sink_no: number;
  readonly sink: string;
  readonly source: string;
  readonly state: DeliveryState;
  readonly reason: string | null;
}

/**
 * Makes these deliveries due now. Leaves out those that `retriable` leaves out. Returns how many it made due.
 * @param discarded whether to retry discarded deliveries, too; if not, a delivery that was discarded after it was selected stays discarded
 */
export async function retry(
  tx: Transaction,
  deliveries: readonly number[],
  discarded: boolean,
): Promise<number> {
  tx.requireOwingLock();
  await lockDeliveries(tx, deliveries);
  const rows = (await tx.rows(WAITS, [deliveries])).filter(({ state }) => state !== 'skipped' || discarded);
  if (rows.length === 0) return 0;
  await tx.run(MAKE_DUE, [tx.now, rows.map(({ delivery_no }) => delivery_no)]);
  await tx.run(WAKE, [tx.now, rows.flatMap(({ batch_no }) => batch_no ?? [])]);
  countMoved(tx, rows, 'pending');
  return rows.length;
}

/** Describes the given deliveries that a retry would make due. */
export async function retriable(tx: Transaction, deliveries: readonly number[]): Promise<ActionGroup[]> {
  return (await tx.rows(WAITS, [deliveries])).map(groupOf);
}

/** Discards the given deliveries that are dead. Returns how many it discarded. */
export async function discard(
  tx: Transaction,
  deliveries: readonly number[],
  note: DiscardNote,
): Promise<number> {
  tx.requireOwingLock();
  await lockDeliveries(tx, deliveries);
  const rows = await tx.rows(DEAD, [deliveries]);
  if (rows.length === 0) return 0;
  await tx.run(DISCARD, [
    tx.now,
    rows.map(({ delivery_no }) => delivery_no),
    texts(rows.map(({ reason }) => storable(discardReason(note, reason)))),
  ]);
  countMoved(tx, rows, 'skipped');
  return rows.length;
}

/** Describes the given deliveries that are dead. */
export async function discardable(tx: Transaction, deliveries: readonly number[]): Promise<ActionGroup[]> {
  return (await tx.rows(DEAD, [deliveries])).map(groupOf);
}

/** Pauses deliveries to a sink. Returns false if there is no such sink. */
export async function pause(tx: Transaction, name: string, reason: string): Promise<boolean> {
  const sink = await lockNamed(tx, name);
  if (!sink) return false;
  if (!sink.health.pausedSince)
    await setHealth(tx, sink, {
      ...sink.health,
      pausedSince: new Date(tx.now),
      pausedReason: storable(reason),
    });
  return true;
}

/**
 * Makes one step of ending a pause, or of making the next probe of a held sink due. The first steps make the batches and deliveries that wait for the
 * probe due, in chunks and without a lock on the sink, so that a claim finds one of them as the probe. The sink stays paused or held until the last
 * step, so that no claim takes them earlier. Returns whether this was the last step; undefined if there is no such sink.
 */
export async function resume(tx: Transaction, name: string): Promise<boolean | undefined> {
  const found = await findSink(tx, name);
  if (!found) return undefined;
  if (await hurry(tx, found)) return false;
  const sink = await lockSink(tx, found.sinkNo);
  // A settlement may have put off other deliveries until the next probe.
  const { heldSince, probeAt } = sink.health;
  if (
    heldSince &&
    probeAt &&
    (await tx.rows(WAITING, [sink.sinkNo, tx.now, probeAt.getTime(), 1])).length > 0
  )
    return false;
  await setHealth(tx, sink, resumed(sink.health, new Date(tx.now)));
  return true;
}

/** Makes one chunk of what waits for the next probe of a held sink due now. Returns false if nothing waits. */
async function hurry(tx: Transaction, { sinkNo, health }: Sink): Promise<boolean> {
  const { heldSince, probeAt } = health;
  if (!heldSince || !probeAt) return false;
  const waiting = [sinkNo, tx.now, probeAt.getTime(), HURRY_CHUNK];
  const batches = (await tx.rows(WAITING_BATCHES, waiting)).map(({ batch_no }) => batch_no);
  if (batches.length > 0) {
    await tx.run(HURRY_BATCHES, [tx.now, batches]);
    await tx.run(HURRY_BATCHED, [tx.now, batches, probeAt.getTime()]);
    return true;
  }
  const deliveries = (await tx.rows(WAITING, waiting)).map(({ delivery_no }) => delivery_no);
  if (deliveries.length === 0) return false;
  await tx.run(HURRY, [tx.now, deliveries, probeAt.getTime()]);
  return true;
}

async function lockNamed(tx: Transaction, name: string): Promise<Sink | undefined> {
  const found = await findSink(tx, name);
  return found && lockSink(tx, found.sinkNo);
}

async function setHealth(tx: Transaction, sink: Sink, after: SinkHealth): Promise<void> {
  await writeHealth(tx, sink.sinkNo, after);
  await recordHolds(tx, sink.sinkNo, sink.health, after);
}

/** Counts deliveries in their new state. */
function countMoved(tx: Transaction, rows: readonly ChangedRow[], to: DeliveryState): void {
  for (const { sink_no, state } of rows) {
    if (state === to) continue;
    tx.count(sink_no, state, -1);
    tx.count(sink_no, to, 1);
  }
}

function groupOf({ sink, source, state, reason }: ChangedRow): ActionGroup {
  return { sink, source, state, reason: reason ?? undefined, deliveries: 1 };
}

const CHANGED = `d.delivery_no, d.batch_no, d.sink_no, s.sink, v.source, d.state, d.reason FROM _deliveries d
  JOIN _sinks s ON s.sink_no = d.sink_no JOIN _versions v ON v.version_no = d.version_no`;

const WAITS = statement<ChangedRow>(
  'retriable',
  `SELECT ${CHANGED} LEFT JOIN _batches b ON b.batch_no = d.batch_no
   WHERE d.delivery_no = ANY ($1::bigint[]) AND (d.event = 'erased' OR v.raw <> '{"id":' || v.id || '}')
   AND (d.state = 'pending' OR ((d.state = 'dead' OR d.state = 'skipped' AND d.discarded = 1) AND NOT ${OVERTAKEN}))
   AND (b.batch_no IS NULL OR b.lease = 0)`,
);
// coalesce() rules out the index of all dead deliveries.
const DEAD = statement<ChangedRow>(
  'discardable',
  `SELECT ${CHANGED} WHERE d.delivery_no = ANY ($1::bigint[]) AND coalesce(d.state, '') = 'dead'`,
);
const DISCARD = statement(
  'discard',
  `UPDATE _deliveries d SET state = 'skipped', reason = g.reason, settled_at = $1, discarded = 1
   FROM unnest($2::bigint[], $3::text[]) AS g (delivery_no, reason) WHERE d.delivery_no = g.delivery_no`,
);
const MAKE_DUE = statement(
  'make-due',
  `UPDATE _deliveries SET state = 'pending', reason = NULL, attempts = 0, excused = 0, settled_at = NULL, next_attempt_at = $1,
   retried_at = CASE WHEN refused_at IS NULL THEN retried_at ELSE $1 END, refused_at = NULL, bound = CASE WHEN bound = 1 THEN 2 ELSE bound END,
   discarded = CASE WHEN discarded = 1 THEN 2 ELSE discarded END WHERE delivery_no = ANY ($2::bigint[])`,
);
const WAKE = statement(
  'wake-batches',
  'UPDATE _batches SET leased_until = $1 WHERE batch_no = ANY ($2::bigint[]) AND lease = 0',
);
/** Finds deliveries in no batch that wait until a time. */
const WAITING = statement<{ delivery_no: number }>(
  'waiting-for-probe',
  `SELECT delivery_no FROM _deliveries WHERE sink_no = $1 AND state = 'pending' AND batch_no IS NULL AND next_attempt_at > $2 AND next_attempt_at <= $3
   ORDER BY next_attempt_at, delivery_no LIMIT $4`,
);
const HURRY = statement(
  'hurry-deliveries',
  `UPDATE _deliveries SET next_attempt_at = $1 WHERE delivery_no = ANY (ARRAY(SELECT d.delivery_no FROM _deliveries d
     WHERE d.delivery_no = ANY ($2::bigint[]) AND coalesce(d.state, '') = 'pending' AND d.batch_no IS NULL AND d.next_attempt_at > $1 AND d.next_attempt_at <= $3
     ORDER BY d.delivery_no FOR UPDATE))`,
);
/** Finds batches without a lease that wait until a time, and locks them. */
const WAITING_BATCHES = statement<{ batch_no: number }>(
  'batches-waiting-for-probe',
  someBatches('b.sink_no = $1 AND b.lease = 0 AND b.leased_until > $2 AND b.leased_until <= $3', '$4'),
);
const HURRY_BATCHES = statement(
  'hurry-batches',
  'UPDATE _batches SET leased_until = $1 WHERE batch_no = ANY ($2::bigint[])',
);
const HURRY_BATCHED = statement(
  'hurry-batched',
  'UPDATE _deliveries SET next_attempt_at = $1 WHERE batch_no = ANY ($2::bigint[]) AND next_attempt_at > $1 AND next_attempt_at <= $3',
);
