import type { PendingRow } from '../../ledger/rules/delivering/attempted-deliveries.ts';
import type { DeliveryRow } from '../../ledger/rules/delivering/loaded-delivery.ts';
import { statement } from '../database/statement.ts';
import { DELIVERY_ID, HAS_CONTENT, IS_NEW_LEAD, KEEPS_MAPPING } from '../schema/delivery-sql.ts';
import { OVERTAKEN } from './content-order-sql.ts';
import { inOrder } from './lock-batches.ts';

/** A batch that is locked. */
export interface LockedBatch {
  batch_no: number;
  lease: number;
  sink_no: number;
  created_at: number;
  leased_until: number;
  holder: string | null;
  mapping_no: number | null;
}

/** Whether the delivery `d`, which waits in the batch `b`, was sent under its present id with a mapping other than the batch's. */
const NEEDS_NEW_ID = `(d.bound = 2 AND d.unsure_at IS NULL AND d.event <> 'erased' AND d.mapping_no IS DISTINCT FROM b.mapping_no)`;

/** Maximum time from a restore to the first poll of a source that still counts as known before the restore, in ms. */
const KNOWN_BEFORE_MS = 86_400_000;

/** When the first poll of the source of the version `v` began, in ms. */
const FIRST_POLL =
  '(SELECT p.started_at FROM _polls p WHERE p.source = v.source AND p.poll_id <= v.poll_id ORDER BY p.poll_id LIMIT 1)';

/** When the last complete poll of the source before the poll that recorded the version `v` began, in ms. */
const COMPLETE_BEFORE = `(SELECT p.started_at FROM _polls p WHERE p.source = v.source AND p.status IN ('success', 'unchanged') AND p.poll_id < v.poll_id
  ORDER BY p.poll_id DESC LIMIT 1)`;

/**
 * Whether the lead of the delivery `d` may have arrived: in an attempt whose outcome is unknown, or before the ledger was restored from a
 * backup that does not contain the attempt. ledger/delivering/settling-sql.ts explains the second case.
 */
const MAY_HAVE_ARRIVED = `(d.unsure_at IS NOT NULL OR EXISTS (SELECT 1 FROM _ledger g
   WHERE g.restored_at IS NOT NULL AND (d.owed_at < g.restored_at OR (v.version = 1 AND v.valid_from >= g.restored_at
     AND ${FIRST_POLL} < g.restored_at + ${KNOWN_BEFORE_MS}
     AND (v.created_at < g.restored_at OR coalesce(${COMPLETE_BEFORE}, 0) < g.restored_at)))))`;

const LOCK_BATCHES = statement<LockedBatch>(
  'lock-batches',
  `SELECT b.batch_no, b.lease, b.sink_no, b.created_at, b.leased_until, b.holder, b.mapping_no
   FROM unnest($1::bigint[], $2::bigint[]) AS g (batch_no, lease) JOIN _batches b ON b.batch_no = g.batch_no AND b.lease = g.lease
   ORDER BY b.batch_no FOR UPDATE OF b`,
);

const ATTEMPTING = statement<{ attempting: boolean }>(
  'attempting',
  'SELECT EXISTS (SELECT 1 FROM _batches WHERE sink_no = $1 AND leased_until > $2 AND lease <> 0 AND holder IS NOT NULL) AS attempting',
);

const BEGIN = statement(
  'begin-batches',
  `UPDATE _batches b SET holder = $2, leased_until = g.leased_until, mapping_no = (SELECT s.mapping_no FROM _sinks s WHERE s.sink_no = b.sink_no)
   FROM unnest($1::bigint[], $3::bigint[]) AS g (batch_no, leased_until) WHERE b.batch_no = g.batch_no`,
);

const UNDO_BEGIN = statement(
  'undo-begin',
  `UPDATE _batches SET holder = NULL WHERE ${inOrder('(b.batch_no, b.lease) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))')}`,
);

/** A delivery of a batch, with the content of its lead. */
export interface LoadedRow extends DeliveryRow {
  readonly batch_no: number;
  readonly sink_no: number;
  readonly sink: string;
  readonly created_at: number;
  readonly leased_until: number;
  readonly lease: number;
}

/**
 * Returns a query for deliveries `d` in batches `b`, with their leads' contents. Each subquery of `from` ends with `OFFSET 0`, which leaves one plan: from what
 * is given to the deliveries. By statistics from when no delivery was in a batch, a plan that begins with every version looks as cheap.
 */
const loadFrom = (
  from: string,
) => `SELECT b.batch_no, b.sink_no, s.sink, b.created_at, b.leased_until, b.lease, d.delivery_no,
   (d.event <> 'erased' AND l.erased_no IS NOT NULL)::int AS gone,
   CASE WHEN l.version_no > v.version_no AND d.unsure_at IS NULL AND d.event <> 'erased' AND ${HAS_CONTENT} THEN l.version_no END AS newest,
   ${DELIVERY_ID} AS delivery, v.source, v.id::text AS id, v.version, d.event, d.replay, d.was_left_out, v.first_seen_at,
   CASE WHEN d.event = 'erased' THEN d.owed_at ELSE v.valid_from END AS valid_from, v.poll_id, v.hash, v.raw, ${MAY_HAVE_ARRIVED}::int AS unsure,
   CASE WHEN ${KEEPS_MAPPING} THEN d.mapping_no ELSE b.mapping_no END AS mapping_no, b.mapping_no AS batch_mapping_no,
   ${NEEDS_NEW_ID}::int AS needs_new_id, coalesce(${IS_NEW_LEAD}, false)::int AS is_new_lead
   FROM ${from}
   CROSS JOIN LATERAL (SELECT * FROM _versions y WHERE y.version_no = d.version_no OFFSET 0) v
   JOIN _sinks s ON s.sink_no = d.sink_no
   LEFT JOIN _leads l ON l.source = v.source AND l.id = v.id LEFT JOIN _sources o ON o.source = v.source
   ORDER BY b.batch_no, d.delivery_no`;

const LOAD = statement<LoadedRow>(
  'load-batches',
  loadFrom(`unnest($1::bigint[]) AS g (batch_no)
   CROSS JOIN LATERAL (SELECT * FROM _batches y WHERE y.batch_no = g.batch_no OFFSET 0) b
   CROSS JOIN LATERAL (SELECT * FROM _deliveries y WHERE y.batch_no = b.batch_no OFFSET 0) d`),
);

/** Returns deliveries by number, with their batches. */
const LOAD_DELIVERIES = statement<LoadedRow>(
  'load-deliveries',
  loadFrom(`unnest($1::bigint[]) AS g (delivery_no)
   CROSS JOIN LATERAL (SELECT * FROM _deliveries y WHERE y.delivery_no = g.delivery_no OFFSET 0) d
   CROSS JOIN LATERAL (SELECT * FROM _batches y WHERE y.batch_no = d.batch_no OFFSET 0) b`),
);

/** Gives new ids to the deliveries of batches that were sent with another mapping. */
const REISSUE = statement(
  'reissue',
  `UPDATE _deliveries d SET reissued = reissued + 1, bound = 0, mapping_no = b.mapping_no
   FROM _batches b WHERE d.batch_no = ANY ($1::bigint[]) AND b.batch_no = d.batch_no AND ${NEEDS_NEW_ID}`,
);

const MAPPINGS = statement<{ mapping_no: number; text: string }>(
  'mappings',
  'SELECT mapping_no, text FROM _mappings WHERE mapping_no = ANY ($1::bigint[])',
);

const END_BATCHES = statement('end-batches', 'DELETE FROM _batches WHERE batch_no = ANY ($1::bigint[])');

const PUT_BACK = statement(
  'put-back',
  'UPDATE _batches SET lease = 0, leased_until = $2 WHERE batch_no = ANY ($1::bigint[])',
);

const KEEP = statement(
  'keep-batch',
  `UPDATE _batches b SET lease = 0, holder = NULL, lost = 0, leased_until = g.due_at
   FROM unnest($1::bigint[], $2::bigint[]) AS g (batch_no, due_at) WHERE b.batch_no = g.batch_no`,
);

/** A delivery of a batch. */
export type PendingOfBatch = PendingRow & { readonly batch_no: number };

const PENDING = statement<PendingOfBatch>(
  'pending-of-batches',
  `SELECT d.batch_no, d.delivery_no, d.attempts, d.excused, d.refused_at, d.retried_at, d.event, coalesce(d.last_attempt_at, d.owed_at) AS waiting_since
   FROM unnest($1::bigint[]) AS g (batch_no) CROSS JOIN LATERAL (SELECT * FROM _deliveries y WHERE y.batch_no = g.batch_no OFFSET 0) d
   ORDER BY d.delivery_no`,
);

const SET_APART = statement<{ batch_no: number }>(
  'set-apart',
  'INSERT INTO _batches (sink_no, created_at, lease, leased_until) VALUES ($1, $2, 0, $2) RETURNING batch_no',
);

const REVIVE = statement(
  'revive',
  `UPDATE _deliveries d SET state = 'pending', reason = NULL, settled_at = NULL, next_attempt_at = $2
   WHERE d.sink_no = $1 AND d.state = 'dead' AND d.settled_at >= $3 AND d.refused_at >= $3
     AND d.delivery_no <> ALL ($4::bigint[]) AND NOT ${OVERTAKEN}`,
);

const OUTDATED = statement<{ version_no: number; source: string; id: string }>(
  'outdated',
  `SELECT l.version_no, l.source, l.id::text AS id FROM unnest($1::bigint[]) AS g (delivery_no)
   JOIN _deliveries d ON d.delivery_no = g.delivery_no JOIN _versions v ON v.version_no = d.version_no
   JOIN _leads l ON l.source = v.source AND l.id = v.id
   WHERE l.version_no > v.version_no AND d.event <> 'erased' AND ${HAS_CONTENT}`,
);

const HOLDERS = statement<{ holder: string }>(
  'holders',
  'SELECT DISTINCT holder FROM _batches WHERE holder IS NOT NULL',
);

const RELEASE = statement(
  'release',
  'UPDATE _batches SET lease = 0, holder = NULL, leased_until = $4 WHERE batch_no = $1 AND lease = $2 AND holder = $3',
);

/** Ends the leases of a process, unless it has come back: it shows that it is alive before it claims anything. */
const END_LEASES = statement(
  'end-leases',
  `UPDATE _batches SET leased_until = 0
   WHERE ${inOrder('b.holder = $1 AND NOT EXISTS (SELECT 1 FROM _processes p WHERE p.holder = $1)')}`,
);

/** The statements of beginning and settling attempts. */
export const settlingSql = {
  LOCK_BATCHES,
  ATTEMPTING,
  BEGIN,
  UNDO_BEGIN,
  LOAD,
  LOAD_DELIVERIES,
  REISSUE,
  MAPPINGS,
  END_BATCHES,
  PUT_BACK,
  KEEP,
  PENDING,
  SET_APART,
  REVIVE,
  OUTDATED,
  HOLDERS,
  RELEASE,
  END_LEASES,
};
