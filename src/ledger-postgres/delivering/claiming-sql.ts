import type { DueDelivery } from '../../ledger/rules/delivering/divide-into-batches.ts';
import { type RawSink, SINK_COLUMNS } from '../database/sinks.ts';
import { statement } from '../database/statement.ts';
import { KEEPS_MAPPING } from '../schema/delivery-sql.ts';
import { UNBLOCKED } from './content-order-sql.ts';
import { inOrder } from './lock-batches.ts';

/** A batch whose lease has expired. */
export interface BatchRow {
  batch_no: number;
  created_at: number;
  lease: number;
  leased_until: number;
  holder: string | null;
  lost: number;
}

/** A delivery that is due. */
export interface DueRow extends DueDelivery {
  delivery_no: number;
}

const BYTES = '(SELECT octet_length(v.raw) FROM _versions v WHERE v.version_no = d.version_no) AS bytes';
const BATCH = 'b.batch_no, b.created_at, b.lease, b.leased_until, b.holder, b.lost';
const WAITING = "d.sink_no = $1 AND d.state = 'pending' AND d.batch_no IS NULL";

/** Finds due deliveries after a place in their index, and locks them. Leaves out those that another transaction has locked. */
const DUE = statement<DueRow>(
  'due',
  `SELECT d.delivery_no, d.owed_at, d.next_attempt_at, ${BYTES} FROM _deliveries d
   WHERE ${WAITING} AND (d.next_attempt_at, d.delivery_no) > ($4, $5) AND d.next_attempt_at <= $2 AND ${UNBLOCKED}
   ORDER BY d.next_attempt_at, d.delivery_no LIMIT $3 FOR UPDATE OF d SKIP LOCKED`,
);

/** Finds batches whose leases have expired, and locks them. Leaves out those that another transaction has locked. */
const OLDEST = statement<BatchRow>(
  'oldest-expired',
  `SELECT ${BATCH} FROM _batches b WHERE b.sink_no = $1 AND b.leased_until <= $2 ORDER BY b.batch_no LIMIT $3 FOR UPDATE OF b SKIP LOCKED`,
);

/** Locks one due delivery, if it still waits and no other transaction has locked it. */
const DUE_DELIVERY = statement<DueRow>(
  'due-delivery',
  `SELECT d.delivery_no, d.owed_at, d.next_attempt_at, ${BYTES} FROM _deliveries d
   WHERE d.delivery_no = $3 AND d.sink_no = $1 AND coalesce(d.state, '') = 'pending' AND d.batch_no IS NULL AND d.next_attempt_at <= $2 AND ${UNBLOCKED}
   FOR UPDATE OF d SKIP LOCKED`,
);

/** Locks one batch whose lease has expired, if no other transaction has locked it. */
const EXPIRED_BATCH = statement<BatchRow>(
  'expired-batch',
  `SELECT ${BATCH} FROM _batches b WHERE b.batch_no = $3 AND b.sink_no = $1 AND b.leased_until <= $2 FOR UPDATE OF b SKIP LOCKED`,
);

// Locks no more than it returns. A delivery may have moved on to a version that was recorded after the statement began. Nothing shows then whether it is
// blocked, so it is left out.
const NEWEST = statement<DueRow>(
  'due-newest',
  `SELECT d.delivery_no, d.owed_at, d.next_attempt_at, ${BYTES}
   FROM (SELECT d.delivery_no FROM (SELECT * FROM _deliveries d WHERE ${WAITING} AND d.next_attempt_at <= $2 AND d.next_attempt_at >= $5
       ORDER BY d.next_attempt_at DESC, d.delivery_no DESC LIMIT $3) d
     WHERE ${UNBLOCKED} ORDER BY d.next_attempt_at DESC, d.delivery_no DESC LIMIT $4) n
   JOIN _deliveries d ON d.delivery_no = n.delivery_no AND coalesce(d.state, '') = 'pending' AND d.batch_no IS NULL
     AND d.next_attempt_at <= $2 AND EXISTS (SELECT 1 FROM _versions v WHERE v.version_no = d.version_no)
   ORDER BY d.next_attempt_at DESC, d.delivery_no DESC FOR UPDATE OF d SKIP LOCKED`,
);

const NEXT_DUE = statement<{ at: number | null }>(
  'next-due',
  `SELECT min(greatest(n.next_attempt_at, n.owed_at + $2)) AS at FROM (SELECT d.next_attempt_at, d.owed_at FROM _deliveries d
   WHERE ${WAITING} AND (d.next_attempt_at, d.delivery_no) > ($3, $4) AND ${UNBLOCKED} ORDER BY d.next_attempt_at, d.delivery_no LIMIT 100) n`,
);

const ANY_DUE = statement<{ due: boolean }>(
  'any-due',
  `SELECT EXISTS (SELECT 1 FROM _deliveries d WHERE ${WAITING} AND (d.next_attempt_at, d.delivery_no) > ($3, $4) AND d.next_attempt_at <= $2
     AND ${UNBLOCKED})
   OR EXISTS (SELECT 1 FROM _batches b WHERE b.sink_no = $1 AND b.leased_until <= $2) AS due`,
);

/** A sink, and what a claim needs to know of its batches. */
export interface LookedAt extends RawSink {
  /** The number of batches under a lease, and of those the ones that the process $2 attempts. */
  leased: number;
  own: number;
  /** The earliest end of a lease that has not expired, or the earliest time at which a kept batch is due. */
  lease_end: number | null;
  /** Whether the lease of a batch has expired, or a kept batch is due. */
  has_expired: boolean;
}

/** Finds a sink by its name. */
const LOOK = statement<LookedAt>(
  'look-at-sink',
  `SELECT ${SINK_COLUMNS}, b.leased, b.own, b.lease_end, b.has_expired FROM _sinks s CROSS JOIN LATERAL (
     SELECT count(*) FILTER (WHERE y.leased_until > t.at AND y.lease <> 0) AS leased,
       count(*) FILTER (WHERE y.leased_until > t.at AND y.lease <> 0 AND y.holder = $2) AS own, min(y.leased_until) FILTER (WHERE y.leased_until > t.at) AS lease_end,
       coalesce(bool_or(y.leased_until <= t.at), false) AS has_expired
     FROM (SELECT _now() AS at OFFSET 0) t JOIN _batches y ON y.sink_no = s.sink_no) b
   WHERE s.sink = $1`,
);

/**
 * Like `DUE`, as many as there is room for and one more, if the sink still has the health $2, and no batch whose lease has expired: nothing then comes
 * before the deliveries. $3 is how many batches may be in flight (of the process $8, or of all), $4 the maximum number of new ones, and $5 the maximum number of deliveries in each.
 */
const DUE_AT_HEALTH = statement<DueRow>(
  'due-at-health',
  `WITH k AS MATERIALIZED (SELECT s.sink_no, t.at,
       greatest(0, least($3::int, $4::int + n.leased) - n.leased) AS room
     FROM (SELECT _now() AS at OFFSET 0) t JOIN _sinks s ON s.sink = $1 AND s.health = $2 AND s.active
     CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE y.leased_until > t.at AND y.lease <> 0 AND ($8::text IS NULL OR y.holder = $8)) AS leased, bool_or(y.leased_until <= t.at) AS has_expired
       FROM _batches y WHERE y.sink_no = s.sink_no) n
     WHERE n.has_expired IS NOT TRUE)
   SELECT d.delivery_no, d.owed_at, d.next_attempt_at, ${BYTES} FROM _deliveries d
   WHERE d.sink_no = (SELECT k.sink_no FROM k) AND d.state = 'pending' AND d.batch_no IS NULL AND (d.next_attempt_at, d.delivery_no) > ($6, $7)
     AND d.next_attempt_at <= (SELECT k.at FROM k) AND ${UNBLOCKED}
   ORDER BY d.next_attempt_at, d.delivery_no LIMIT (SELECT CASE WHEN k.room > 0 THEN k.room * $5::int + 1 ELSE 0 END FROM k) FOR UPDATE OF d SKIP LOCKED`,
);

/** Finds when the delivery became due that is due last. */
const NEWEST_DUE = statement<{ at: number }>(
  'newest-due',
  `SELECT d.next_attempt_at AS at FROM _deliveries d WHERE d.sink_no = (SELECT s.sink_no FROM _sinks s WHERE s.sink = $1)
     AND d.state = 'pending' AND d.batch_no IS NULL AND d.next_attempt_at <= (SELECT _now()) ORDER BY d.next_attempt_at DESC, d.delivery_no DESC LIMIT 1`,
);

const LEASED = statement<{ leased: number }>(
  'leased',
  'SELECT count(*) AS leased FROM _batches WHERE sink_no = $1 AND leased_until > $2 AND lease <> 0',
);

const UNBEGUN = statement<{ batch_no: number; lease: number }>(
  'unbegun',
  'SELECT batch_no, lease FROM _batches WHERE sink_no = $1 AND leased_until > $2 AND lease <> 0 AND holder IS NULL ORDER BY batch_no',
);

const ADD_BATCHES = statement<{ batch_no: number; lease: number }>(
  'add-batches',
  `INSERT INTO _batches (sink_no, created_at, lease, leased_until, holder, lost, mapping_no)
   SELECT s.sink_no, g.created_at, g.lease, $4, $5, $6, s.mapping_no
   FROM _sinks s CROSS JOIN unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS g (created_at, lease, position)
   WHERE s.sink_no = $1 ORDER BY g.position RETURNING batch_no, lease`,
);

/**
 * Adds batches of a sink, and puts deliveries into them: each of the deliveries $6 into the batch at the place of $7, from 1. Returns the batch of each
 * delivery.
 */
const MAKE_BATCHES = statement<{ batch_no: number; lease: number }>(
  'make-batches',
  `WITH added AS (INSERT INTO _batches (sink_no, created_at, lease, leased_until, holder, mapping_no)
     SELECT s.sink_no, $2, g.lease, $4, $5, s.mapping_no
     FROM _sinks s CROSS JOIN unnest($3::bigint[]) WITH ORDINALITY AS g (lease, position)
     WHERE s.sink_no = $1 ORDER BY g.position RETURNING batch_no, lease),
   all_added AS MATERIALIZED (SELECT array_agg(batch_no ORDER BY batch_no) AS numbers, array_agg(lease ORDER BY batch_no) AS leases FROM added)
   UPDATE _deliveries d SET batch_no = a.numbers[g.place] FROM all_added a CROSS JOIN unnest($6::bigint[], $7::int[]) AS g (delivery_no, place)
   WHERE d.delivery_no = g.delivery_no RETURNING d.batch_no, a.leases[g.place] AS lease`,
);

const ASSIGN = statement(
  'assign',
  `UPDATE _deliveries d SET batch_no = g.batch_no FROM unnest($1::bigint[], $2::bigint[]) AS g (delivery_no, batch_no)
   WHERE d.delivery_no = g.delivery_no`,
);

const RENEW = statement(
  'renew',
  `UPDATE _batches b SET lease = g.lease, leased_until = g.leased_until, holder = CASE WHEN g.lease = 0 THEN NULL ELSE $1 END, lost = g.lost, mapping_no = s.mapping_no
   FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::int[]) AS g (batch_no, lease, leased_until, lost), _sinks s
   WHERE b.batch_no = g.batch_no AND s.sink_no = b.sink_no`,
);

const EXTEND = statement(
  'extend',
  `UPDATE _batches SET leased_until = $3 WHERE ${inOrder('b.sink_no = $1 AND b.leased_until <= $2 AND b.holder IS NOT NULL AND b.lease = ANY ($4::bigint[])')}`,
);

const DELAY = statement(
  'delay',
  'UPDATE _deliveries SET reason = $1, next_attempt_at = $2 WHERE batch_no = $3',
);

/** Records that the leads of batches may have arrived, because the attempts were lost or cut off, and the mapping of those attempts. */
const MARK_MAYBE_ARRIVED = statement(
  'mark-maybe-arrived',
  `UPDATE _deliveries d SET unsure_at = coalesce(d.unsure_at, $1), mapping_no = CASE WHEN ${KEEPS_MAPPING} THEN d.mapping_no ELSE b.mapping_no END
   FROM _batches b WHERE b.batch_no = d.batch_no AND d.batch_no = ANY ($2::bigint[])`,
);

const IN_BATCH = statement<{ delivery_no: number }>(
  'in-batch',
  'SELECT delivery_no FROM _deliveries WHERE batch_no = $1 ORDER BY delivery_no',
);

/** The statements of claiming. */
export const claimingSql = {
  LOOK,
  DUE_AT_HEALTH,
  NEWEST_DUE,
  DUE,
  OLDEST,
  DUE_DELIVERY,
  EXPIRED_BATCH,
  NEWEST,
  NEXT_DUE,
  ANY_DUE,
  LEASED,
  UNBEGUN,
  ADD_BATCHES,
  MAKE_BATCHES,
  ASSIGN,
  RENEW,
  EXTEND,
  DELAY,
  MARK_MAYBE_ARRIVED,
  IN_BATCH,
};
