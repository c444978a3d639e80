import type Database from 'better-sqlite3';
import type { PollStatus } from '../contract/status-rows.ts';
import { MARK_MAYBE_ARRIVED, SKIP } from '../privacy/erasing.ts';
import { HAS_CONTENT } from '../privacy/retaining.ts';
import type { PendingRow } from '../rules/delivering/attempted-deliveries.ts';
import type { DeliveryRow } from '../rules/delivering/loaded-delivery.ts';
import { changedAt, deliveryId, IS_NEW_LEAD, KEEPS_MAPPING } from '../schema/views.ts';
import { OVERTAKEN } from './content-order-sql.ts';

/** Whether the delivery `d`, which waits in the batch `b`, was sent under its present id with a mapping other than the batch's. */
const NEEDS_NEW_ID = `(d.bound = 2 AND d.unsure_at IS NULL AND d.event <> 'erased' AND d.mapping_no IS NOT b.mapping_no)`;

/** A batch whose attempt has begun. */
export interface BegunRow {
  created_at: number;
  leased_until: number;
}

/** A delivery of the batch that is being settled. */
interface SettledRow extends PendingRow {
  /** The mapping of the attempt. */
  mapping_no: number | null;
}

/**
 * Maximum time from a restore to the first poll of a source that still counts as known before the restore, in ms. Such a source may have been
 * added after the backup, so the backup may not contain it.
 */
const KNOWN_BEFORE_MS = 86_400_000;

/** When a poll `p` began, in ms. */
const STARTED_AT = `round(unixepoch(p.started_at, 'subsec') * 1000)`;

/** When the first poll of the source of the version `v` began, in ms. */
const FIRST_POLL = `(SELECT ${STARTED_AT} FROM polls p INDEXED BY _polls_by_source
   WHERE p.source = v.source AND p.poll_id <= v.poll_id ORDER BY p.poll_id LIMIT 1)`;

/** Returns SQL for the number of the last poll with this status before the poll that recorded the version `v`; 0 if there is none. */
const lastBefore = (
  status: PollStatus,
) => `coalesce((SELECT max(q.poll_id) FROM polls q INDEXED BY _polls_by_status
   WHERE q.source = v.source AND q.status = '${status}' AND q.poll_id < v.poll_id), 0)`;

/**
 * When the last complete poll of the source before the poll that recorded the version `v` began, in ms. A lead that was not in a complete
 * listing after the restore is new. The creation time from the service does not show this, because the service's clock may be ahead.
 */
const COMPLETE_BEFORE = `(SELECT ${STARTED_AT} FROM polls p
   WHERE p.poll_id = max(${lastBefore('success')}, ${lastBefore('unchanged')}))`;

/**
 * Whether the lead of the delivery `d` may have arrived: in an attempt whose outcome is unknown, or before the ledger was restored from a
 * backup that does not contain the attempt. In the second case, unlike in the first, a newer version may still replace this one: it is not
 * known which version arrived, and an older version must not follow it. Leads of a source that was added after the restore cannot have arrived
 * before it.
 */
const MAY_HAVE_ARRIVED = `(d.unsure_at IS NOT NULL OR EXISTS (SELECT 1 FROM _ledger g
   WHERE g.restored_at IS NOT NULL AND (d.owed_at < g.restored_at OR (v.version = 1 AND v.valid_from >= g.restored_at
     AND ${FIRST_POLL} < g.restored_at + ${KNOWN_BEFORE_MS}
     AND (v.created_at < g.restored_at OR coalesce(${COMPLETE_BEFORE}, 0) < g.restored_at)))))`;

/** Prepares the statements of `Settling`. */
export function prepareSettling(db: Database.Database) {
  return {
    begin: db
      .prepare<[string, number, number, number, number], number>(
        `UPDATE _batches AS b SET holder = ?, leased_until = ?, mapping_no = (SELECT s.mapping_no FROM _sinks s WHERE s.sink_no = b.sink_no)
         WHERE batch_no = ? AND lease = ? AND holder IS NULL AND leased_until > ? RETURNING created_at`,
      )
      .pluck(),
    begun: db.prepare<[number, number], BegunRow>(
      'SELECT created_at, leased_until FROM _batches WHERE batch_no = ? AND lease = ?',
    ),
    undoBegin: db.prepare('UPDATE _batches SET holder = NULL WHERE batch_no = ? AND lease = ?'),
    load: db.prepare<[number], DeliveryRow>(
      `SELECT d.delivery_no, d.event <> 'erased' AND l.erased_no IS NOT NULL AS gone,
       CASE WHEN l.version_no > v.version_no AND d.unsure_at IS NULL AND d.event <> 'erased' AND ${HAS_CONTENT} THEN l.version_no END AS newest,
       ${deliveryId} AS delivery, v.source, CAST(v.id AS TEXT) AS id, v.version, d.event, d.replay, d.was_left_out, v.first_seen_at, ${changedAt} AS valid_from, v.poll_id, v.hash, v.raw, ${MAY_HAVE_ARRIVED} AS unsure,
       iif(${KEEPS_MAPPING}, d.mapping_no, b.mapping_no) AS mapping_no, b.mapping_no AS batch_mapping_no,
       ${NEEDS_NEW_ID} AS needs_new_id, ${IS_NEW_LEAD} AS is_new_lead
       FROM _batches b CROSS JOIN _deliveries d ON d.batch_no = b.batch_no JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no
       LEFT JOIN _leads l ON l.source = v.source AND l.id = v.id LEFT JOIN _sources o ON o.source = v.source
       WHERE b.batch_no = +? ORDER BY d.delivery_no`,
    ),
    reissue: db.prepare<[number]>(
      `UPDATE _deliveries AS d SET reissued = reissued + 1, bound = 0, mapping_no = b.mapping_no
       FROM _batches b WHERE d.batch_no = +? AND b.batch_no = d.batch_no AND ${NEEDS_NEW_ID}`,
    ),
    mapping: db.prepare<[number], string>('SELECT text FROM _mappings WHERE mapping_no = ?').pluck(),
    skip: db.prepare<[string, number, number]>(SKIP),
    join: db.prepare<[number, number]>('UPDATE _deliveries SET batch_no = ? WHERE delivery_no = ?'),
    markUnsure: db.prepare<[number, number]>(MARK_MAYBE_ARRIVED),
    sinkOf: db
      .prepare<[number], string>(
        'SELECT s.sink FROM _batches b JOIN _sinks s ON s.sink_no = b.sink_no WHERE b.batch_no = +?',
      )
      .pluck(),
    addBatch: db.prepare(
      'INSERT INTO _batches (sink_no, created_at, lease, leased_until) VALUES (?, ?, 0, ?)',
    ),
    assign: db.prepare(
      'UPDATE _deliveries SET batch_no = ? WHERE delivery_no IN (SELECT value FROM json_each(?))',
    ),
    keep: db.prepare(
      'UPDATE _batches SET lease = 0, holder = NULL, lost = 0, leased_until = ? WHERE batch_no = ?',
    ),
    putBack: db.prepare(
      'UPDATE _batches SET lease = 0, leased_until = ? WHERE batch_no = ? AND lease = ? AND holder IS NULL',
    ),
    attempting: db
      .prepare<[number, number], number>(
        'SELECT count(*) FROM _batches WHERE sink_no = +? AND leased_until > +? AND lease <> 0 AND holder IS NOT NULL',
      )
      .pluck(),
    end: db.prepare('DELETE FROM _batches WHERE batch_no = ?'),
    pending: db.prepare<[number, number], SettledRow>(
      `SELECT delivery_no, attempts, excused, refused_at, retried_at, event, coalesce(last_attempt_at, owed_at) AS waiting_since, b.mapping_no
       FROM _deliveries d JOIN _batches b ON b.batch_no = d.batch_no WHERE d.batch_no = +? AND b.lease = +? ORDER BY delivery_no`,
    ),
    revive: db.prepare(
      `UPDATE _deliveries AS d SET state = 'pending', reason = NULL, settled_at = NULL, next_attempt_at = ?
       WHERE sink_no = ? AND state = 'dead' AND settled_at >= ? AND refused_at >= ? AND NOT ${OVERTAKEN}`,
    ),
    holders: db.prepare<[], string>('SELECT DISTINCT holder FROM _batches WHERE holder IS NOT NULL').pluck(),
    release: db.prepare<[number, number, number, string]>(
      'UPDATE _batches SET lease = 0, holder = NULL, leased_until = ? WHERE batch_no = ? AND lease = ? AND holder = ?',
    ),
    endLeases: db.prepare('UPDATE _batches SET leased_until = 0 WHERE holder = ?'),
  };
}
