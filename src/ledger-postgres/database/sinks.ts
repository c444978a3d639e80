import type { LeadEvent } from '../../leads/delivery.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';
import { decodeHealth, encodeHealth, type SinkRow } from '../../ledger/rules/delivering/sink-row.ts';
import type { Asked } from './flight.ts';
import { statement } from './statement.ts';
import type { Transaction } from './transaction.ts';

/** The columns of a sink. */
export interface RawSink {
  sink_no: number;
  sink: string;
  named: string | null;
  active: boolean;
  events: string;
  backfill: boolean;
  owed_through: number;
  backfill_to: number;
  health: string;
  config: string | null;
}

interface CountedSink extends RawSink {
  pending: number;
  delivered: number;
  dead: number;
  skipped: number;
  delivered_at: number | null;
}

/** Returns every sink that was ever declared, in the order of declaration, with its counts, for which all changes since `addUpCounts` are read. */
export async function countedSinks(tx: Transaction): Promise<SinkRow[]> {
  return (await tx.rows(COUNTED)).map(toSinkRow);
}

/** A sink without the counts of its deliveries, which are not needed to deliver. */
export type Sink = Omit<SinkRow, 'counts'>;

/** A sink whose row is locked. */
export interface LockedSink extends Sink {
  /** The time of the ledger when the row was locked, in ms since 1970: after every change of the row. */
  readonly lockedAt: number;
}

/** Returns every sink that was ever declared, in the order of declaration, without its counts. */
export async function allSinks(tx: Transaction): Promise<Sink[]> {
  return (await tx.rows(ALL)).map(toSink);
}

/** Returns the statement that reads what `allSinks` returns; `toSink` converts its rows. */
export function askAllSinks(): Asked<RawSink> {
  return { sql: ALL, values: [] };
}

/** Returns a sink without its counts; undefined if it was never declared. */
export async function findSink(tx: Transaction, name: string): Promise<Sink | undefined> {
  const row = await tx.first(FIND, [name]);
  return row && toSink(row);
}

/** Returns a sink without its counts, by number. */
export async function getSink(tx: Transaction, sinkNo: number): Promise<Sink> {
  return toSink((await tx.first(GET, [sinkNo])) as RawSink);
}

/** Returns the statement that finds the sinks of batches; `toSink` converts its rows. */
export function askSinks(batches: readonly number[]): Asked<RawSink> {
  return { sql: OF_BATCHES, values: [batches] };
}

/**
 * Returns a sink, and locks its row until the end of the transaction, for a caller that changes the sink's health. A transaction that also locks
 * batches and deliveries locks batches first, then sinks, then deliveries.
 */
export async function lockSink(tx: Transaction, sinkNo: number): Promise<LockedSink> {
  const row = (await tx.first(LOCK, [sinkNo])) as RawSink & { locked_at: number };
  return { ...toSink(row), lockedAt: Math.max(tx.now, row.locked_at) };
}

/** Writes the health of a sink whose row is locked. */
export async function writeHealth(tx: Transaction, sinkNo: number, health: SinkHealth): Promise<void> {
  await tx.run(SET_HEALTH, [encodeHealth(health), sinkNo]);
}

/** Returns a sink from the columns `SINK_COLUMNS`. */
export function toSink(row: RawSink): Sink {
  return {
    sinkNo: row.sink_no,
    name: row.sink,
    active: row.active,
    events: row.events.split(',') as LeadEvent[],
    backfill: row.backfill,
    owedThrough: row.owed_through,
    backfillTo: row.backfill_to,
    health: decodeHealth(row.health),
    nameInIds: row.named ?? row.sink,
    config: row.config ?? undefined,
  };
}

function toSinkRow(row: CountedSink): SinkRow {
  const { health, ...sink } = toSink(row);
  const at = Math.max(health.lastDeliveredAt?.getTime() ?? 0, row.delivered_at ?? 0);
  return {
    ...sink,
    health: { ...health, lastDeliveredAt: at === 0 ? undefined : new Date(at) },
    counts: { pending: row.pending, delivered: row.delivered, dead: row.dead, skipped: row.skipped },
  };
}

/** The columns of a sink `s`. */
export const SINK_COLUMNS =
  's.sink_no, s.sink, s.named, s.active, s.events, s.backfill, s.owed_through, s.backfill_to, s.health, s.config';

const COUNTED = statement<CountedSink>(
  'counted-sinks',
  `SELECT ${SINK_COLUMNS},
     coalesce(c.pending, 0) + coalesce(n.pending, 0) AS pending, coalesce(c.delivered, 0) + coalesce(n.delivered, 0) AS delivered,
     coalesce(c.dead, 0) + coalesce(n.dead, 0) AS dead, coalesce(c.skipped, 0) + coalesce(n.skipped, 0) AS skipped,
     greatest(c.delivered_at, n.delivered_at) AS delivered_at
   FROM _sinks s LEFT JOIN _sink_counts c ON c.sink_no = s.sink_no
   LEFT JOIN (SELECT sink_no, sum(pending)::bigint AS pending, sum(delivered)::bigint AS delivered, sum(dead)::bigint AS dead,
     sum(skipped)::bigint AS skipped, max(delivered_at) AS delivered_at FROM _count_changes GROUP BY sink_no) n ON n.sink_no = s.sink_no
   ORDER BY s.sink_no`,
);
const ALL = statement<RawSink>('sinks', `SELECT ${SINK_COLUMNS} FROM _sinks s ORDER BY s.sink_no`);
const FIND = statement<RawSink>('find-sink', `SELECT ${SINK_COLUMNS} FROM _sinks s WHERE s.sink = $1`);
const GET = statement<RawSink>('get-sink', `SELECT ${SINK_COLUMNS} FROM _sinks s WHERE s.sink_no = $1`);
const OF_BATCHES = statement<RawSink>(
  'sinks-of-batches',
  `SELECT ${SINK_COLUMNS} FROM _sinks s WHERE s.sink_no IN (SELECT b.sink_no FROM _batches b WHERE b.batch_no = ANY ($1::bigint[]))`,
);
const LOCK = statement<RawSink & { locked_at: number }>(
  'lock-sink',
  `SELECT ${SINK_COLUMNS}, _now() AS locked_at FROM _sinks s WHERE s.sink_no = $1 FOR UPDATE`,
);
const SET_HEALTH = statement('set-health', 'UPDATE _sinks SET health = $1 WHERE sink_no = $2');
