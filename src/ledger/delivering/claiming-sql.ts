import type Database from 'better-sqlite3';
import { MARK_MAYBE_ARRIVED } from '../privacy/erasing.ts';
import { UNBLOCKED } from './content-order-sql.ts';

/** A batch whose lease has expired. */
export interface BatchRow {
  batch_no: number;
  created_at: number;
  lease: number;
  leased_until: number;
  holder: string | null;
  lost: number;
}

/** A delivery that is due, with the length of its lead's text in bytes. */
export interface DueRow {
  delivery_no: number;
  owed_at: number;
  next_attempt_at: number;
  bytes: number;
}

/** The statements that find the next probe of a held sink. */
export interface ProbeSql {
  readonly due: Database.Statement<[number, number, number], DueRow>;
  readonly expired: Database.Statement<[number, number, number], BatchRow>;
}

/**
 * Whether the delivery `d` would be a poor probe: it was refused before, or its event is `erased`, which a destination may refuse because it
 * does not know the lead.
 */
const INCONCLUSIVE = "(d.refused_at IS NOT NULL OR d.retried_at IS NOT NULL OR d.event = 'erased')";

/**
 * Prepares the statements of `Claiming`. They contain `+?` instead of `?`. For a plain parameter, SQLite would choose the query plan by its
 * value and recompile the statement for every run, which takes ten times as long as the run itself.
 */
export function prepareClaiming(db: Database.Database) {
  const expired = (order: string, also = '') =>
    db.prepare<[number, number, number], BatchRow>(
      `SELECT batch_no, created_at, lease, leased_until, holder, lost FROM _batches b WHERE sink_no = +? AND leased_until <= +? ${also}
       ORDER BY ${order} LIMIT +?`,
    );
  const due = (also = '') =>
    db.prepare<[number, number, number], DueRow>(
      `SELECT delivery_no, owed_at, next_attempt_at, (SELECT octet_length(raw) FROM _versions v WHERE v.version_no = d.version_no) AS bytes
       FROM _deliveries d WHERE sink_no = +? AND state = 'pending' AND batch_no IS NULL AND next_attempt_at <= +?
       AND ${UNBLOCKED} ${also}
       ORDER BY next_attempt_at, delivery_no LIMIT +?`,
    );
  const anyDue = due();
  return {
    due: anyDue,
    // The outer SELECT has no ORDER BY. It keeps the order of the inner SELECT and stops at its own limit.
    newest: db.prepare<[number, number, number, number], DueRow>(
      `SELECT delivery_no, owed_at, next_attempt_at, (SELECT octet_length(raw) FROM _versions v WHERE v.version_no = d.version_no) AS bytes
       FROM (SELECT delivery_no, owed_at, next_attempt_at, version_no, after_no, sink_no FROM _deliveries
         WHERE sink_no = +? AND state = 'pending' AND batch_no IS NULL AND next_attempt_at <= +?
         ORDER BY next_attempt_at DESC, delivery_no DESC LIMIT +?) d
       WHERE ${UNBLOCKED} LIMIT +?`,
    ),
    probes: {
      conclusive: {
        due: due(`AND NOT ${INCONCLUSIVE}`),
        expired: expired(
          'leased_until, batch_no',
          `AND NOT EXISTS (SELECT 1 FROM _deliveries d WHERE d.batch_no = b.batch_no AND ${INCONCLUSIVE})`,
        ),
      },
      any: { due: anyDue, expired: expired('leased_until, batch_no') },
    },
    nextDue: db
      .prepare<[number, number], number | null>(
        `SELECT min(max(next_attempt_at, owed_at + ?)) FROM (SELECT next_attempt_at, owed_at FROM _deliveries d
         WHERE sink_no = +? AND state = 'pending' AND batch_no IS NULL AND ${UNBLOCKED} ORDER BY next_attempt_at LIMIT 100)`,
      )
      .pluck(),
    leased: db
      .prepare<[number, number], number>(
        'SELECT count(*) FROM _batches WHERE sink_no = +? AND leased_until > +? AND lease <> 0',
      )
      .pluck(),
    nextLeaseEnd: db
      .prepare<[number, number], number | null>(
        'SELECT min(leased_until) FROM _batches WHERE sink_no = +? AND leased_until > +?',
      )
      .pluck(),
    oldest: expired('batch_no'),
    waiting: db.prepare<[number, number], { batch_no: number; lease: number }>(
      'SELECT batch_no, lease FROM _batches WHERE sink_no = +? AND leased_until > +? AND lease <> 0 AND holder IS NULL ORDER BY batch_no',
    ),
    addBatch: db.prepare(
      `INSERT INTO _batches (sink_no, created_at, lease, leased_until, holder, lost, mapping_no)
       SELECT sink_no, ?, ?, ?, ?, ?, mapping_no FROM _sinks WHERE sink_no = ?`,
    ),
    renew: db.prepare(
      `UPDATE _batches AS b SET lease = ?, leased_until = ?, holder = ?, lost = ?,
       mapping_no = (SELECT s.mapping_no FROM _sinks s WHERE s.sink_no = b.sink_no) WHERE batch_no = ?`,
    ),
    extend: db.prepare<[number, number, number, string]>(
      `UPDATE _batches SET leased_until = ? WHERE sink_no = +? AND leased_until <= +? AND holder IS NOT NULL
       AND lease IN (SELECT value FROM json_each(?))`,
    ),
    moveLeases: db.prepare(
      'UPDATE _batches SET leased_until = leased_until + ? WHERE leased_until > ? AND lease <> 0 AND holder IS NOT NULL',
    ),
    delay: db.prepare('UPDATE _deliveries SET reason = ?, next_attempt_at = ? WHERE batch_no = ?'),
    markUnsure: db.prepare<[number, number]>(MARK_MAYBE_ARRIVED),
    assign: db.prepare('UPDATE _deliveries SET batch_no = ? WHERE delivery_no = ?'),
    assignAll: db.prepare(
      'UPDATE _deliveries SET batch_no = ? WHERE delivery_no IN (SELECT value FROM json_each(?))',
    ),
    inBatch: db
      .prepare<[number], number>(
        'SELECT delivery_no FROM _deliveries WHERE batch_no = +? ORDER BY delivery_no',
      )
      .pluck(),
  };
}
