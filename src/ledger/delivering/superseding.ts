import type Database from 'better-sqlite3';
import type { LeadEvent } from '../../leads/delivery.ts';
import type { LeadId } from '../../leads/lead.ts';
import { LEFT_OUT } from '../../leads/outcome.ts';
import type { SinkRows } from '../database/sink-rows.ts';
import { SKIP } from '../privacy/erasing.ts';
import { HAS_CONTENT } from '../privacy/retaining.ts';
import type { SinkRow } from '../rules/delivering/sink-row.ts';
import {
  CANCELLED,
  type LastDelivery,
  leftOutEvent,
  type NewestVersion,
  type OwedAs,
  planNewest,
  REPLACED,
  type Replaceable,
} from '../rules/delivering/superseding.ts';

/** Greater than any version number. */
const ANY_VERSION = Number.MAX_SAFE_INTEGER;

interface ReplaceableParameters {
  readonly source: string;
  readonly id: LeadId;
  readonly sink: number;
  /** Only deliveries of versions below this number match. */
  readonly before: number;
  /** Whether deliveries that may have arrived also match. */
  readonly unsure: 0 | 1;
  /** The batch whose attempt is about to begin; null if none is. */
  readonly beginning: number | null;
}

/**
 * Replaces deliveries of a lead's older versions with a delivery of its newest version. Runs inside its caller's transaction.
 * docs/decisions/0012 gives the reasons.
 */
export class NewestContent {
  readonly #rows: SinkRows;
  readonly #sql;

  constructor(db: Database.Database, rows: SinkRows) {
    this.#rows = rows;
    this.#sql = prepare(db);
  }

  /** Returns the last delivery of a lead to a sink. Ignores cancelled replays: the lead is treated as if they had never been requested. */
  last(sink: SinkRow, source: string, id: LeadId): LastDelivery | undefined {
    return this.#sql.last.get(source, id, sink.sinkNo);
  }

  /**
   * Records the newest version of a lead as owed to a sink, in place of older versions that are known not to have arrived. A delivery that may
   * have arrived keeps its id and content until it is settled, unless the sink subscribes to updates and the delivery is alone in its batch.
   * Returns the number of the delivery that it adds, if any.
   * @param beginning the batch whose attempt is about to begin; its deliveries may also be replaced
   */
  oweNewest(sink: SinkRow, newest: NewestVersion, now: number, beginning?: number): number | undefined {
    const { versionNo, source, id } = newest;
    const asks = sink.events.includes('updated');
    const last = this.last(sink, source, id);
    const wanted = { source, id, sink: sink.sinkNo, before: versionNo, unsure: asks ? 1 : 0 } as const;
    const plan = planNewest(sink.events, versionNo, {
      last,
      older: () => this.#sql.replaceable.all({ ...wanted, beginning: beginning ?? null }),
      maybeArrived: () => this.maybeArrived(sink, source, id),
      wasDelivered: () => this.#sql.delivered.get(source, id, sink.sinkNo) !== undefined,
    });
    for (const { delivery_no } of plan.moving) this.#sql.moveOn.run(versionNo, delivery_no);
    for (const one of plan.replaced) this.#giveWay(sink, one, now, beginning);
    return plan.owe && this.oweBehind(sink, newest, plan.owe, now);
  }

  /** Whether any version of a lead was delivered to a sink, or may have arrived there. */
  maybeArrived({ sinkNo }: SinkRow, source: string, id: LeadId): boolean {
    return this.#sql.maybeArrived.get(source, id, sinkNo) !== undefined;
  }

  /**
   * Records a lead's newest version, which the sink's mapping left out, as owed to the sink, as part of the replay that was requested at
   * `replay`, in ms since 1970. Returns false if `leftOutEvent` finds nothing to owe.
   */
  oweLeftOut(sink: SinkRow, newest: NewestVersion, replay: number, now: number): boolean {
    const event = this.leftOutEvent(sink, newest);
    if (event === undefined) return false;
    return this.oweBehind(sink, newest, { event, replay, was_left_out: 1 }, now) !== undefined;
  }

  /** Returns the event with which a lead that the sink's mapping left out is owed again. See `leftOutEvent`. */
  leftOutEvent(sink: SinkRow, { versionNo, source, id }: NewestVersion): LeadEvent | undefined {
    const last = this.last(sink, source, id);
    const lastArrived = () => this.#sql.lastArrived.get(source, id, sink.sinkNo) ?? undefined;
    return leftOutEvent(sink.events, versionNo, last, lastArrived);
  }

  /** Records the newest versions of leads as owed to a sink if their deliveries failed and are now pending again or dead. */
  oweNewestOfFailed(sink: SinkRow, deliveries: readonly number[], now: number): void {
    if (deliveries.length === 0) return;
    for (const { versionNo, source, id } of this.#sql.outdated.all(JSON.stringify(deliveries)))
      this.oweNewest(sink, { versionNo, source, id: BigInt(id) }, now);
  }

  /** Skips a lead's deliveries that failed and wait for a retry, except deliveries in a batch that must not change. */
  giveWay(sink: SinkRow, source: string, id: LeadId, now: number): void {
    const wanted = {
      source,
      id,
      sink: sink.sinkNo,
      before: ANY_VERSION,
      unsure: 1,
      beginning: null,
    } as const;
    for (const one of this.#sql.replaceable.all(wanted))
      if (one.untouched === 0) this.#giveWay(sink, one, now);
  }

  #giveWay(sink: SinkRow, { delivery_no, batch_no }: Replaceable, now: number, beginning?: number): void {
    this.#sql.giveWay.run(REPLACED, now, delivery_no);
    if (batch_no !== null && batch_no !== beginning) this.#sql.endEmpty.run(batch_no, batch_no);
    this.#rows.count(sink.name, 'pending', -1);
    this.#rows.count(sink.name, 'skipped', 1);
  }

  /**
   * Records a version as owed to a sink, to be sent after every earlier delivery of the same lead to this sink, so that an older version never
   * overtakes a newer version. Returns the number of the new delivery, or undefined if this delivery already exists.
   */
  oweBehind(
    sink: SinkRow,
    { versionNo, source, id }: NewestVersion,
    { event, replay, was_left_out = 0 }: OwedAs,
    now: number,
  ): number | undefined {
    const after = this.last(sink, source, id)?.delivery_no ?? null;
    const owed = this.#sql.owe.run(versionNo, sink.sinkNo, replay, was_left_out, event, now, now, after);
    this.#rows.count(sink.name, 'pending', owed.changes);
    return owed.changes === 1 ? Number(owed.lastInsertRowid) : undefined;
  }
}

/** Whether the delivery `d` was delivered, or may have arrived. */
const MAYBE_ARRIVED = "(d.state = 'delivered' OR d.unsure_at IS NOT NULL)";

function prepare(db: Database.Database) {
  const anyDelivery = (condition: string) =>
    db
      .prepare<[string, bigint, number], 1>(
        `SELECT 1 FROM _versions v CROSS JOIN _deliveries d ON d.version_no = v.version_no
         WHERE v.source = +? AND v.id = +? AND d.sink_no = +? AND d.event <> 'erased' AND ${condition} LIMIT 1`,
      )
      .pluck();
  return {
    // CROSS JOIN makes SQLite start with the lead's versions. Otherwise, without statistics, SQLite would scan all deliveries of the sink.
    last: db.prepare<[string, bigint, number], LastDelivery>(
      `SELECT d.delivery_no, d.version_no, d.state, d.event, d.replay, d.was_left_out, d.reason, d.discarded FROM _versions v CROSS JOIN _deliveries d ON d.version_no = v.version_no
       WHERE v.source = +? AND v.id = +? AND d.sink_no = +? AND NOT (d.state = 'skipped' AND d.reason IS '${CANCELLED}') ORDER BY d.delivery_no DESC LIMIT 1`,
    ),
    delivered: anyDelivery("d.state = 'delivered'"),
    maybeArrived: anyDelivery(MAYBE_ARRIVED),
    lastArrived: db
      .prepare<[string, bigint, number], number | null>(
        `SELECT max(v.version_no) FROM _versions v CROSS JOIN _deliveries d ON d.version_no = v.version_no
         WHERE v.source = +? AND v.id = +? AND d.sink_no = +? AND d.event <> 'erased' AND ${MAYBE_ARRIVED}
         -- Every attempt of a delivery that may have arrived has the same mapping, so one that was left out was never sent.
         AND NOT (d.state = 'skipped' AND substr(d.reason, 1, ${LEFT_OUT.length}) = '${LEFT_OUT}')`,
      )
      .pluck(),
    replaceable: db.prepare<[ReplaceableParameters], Replaceable>(
      `SELECT o.delivery_no, o.replay, o.was_left_out, o.event, o.batch_no, o.first_attempt_at IS NULL AND o.unsure_at IS NULL AS untouched
       FROM _versions v CROSS JOIN _deliveries o ON o.version_no = v.version_no LEFT JOIN _batches b ON b.batch_no = o.batch_no
       WHERE v.source = +:source AND v.id = +:id AND v.version_no < +:before
       AND o.sink_no = +:sink AND o.state = 'pending' AND o.event <> 'erased'
       AND (o.batch_no IS NULL OR b.holder IS NULL OR o.batch_no = +:beginning)
       -- A batch that may have arrived must stay the same batch, so a delivery can leave it only if it is alone in it.
       AND (o.unsure_at IS NULL OR (+:unsure AND NOT EXISTS
         (SELECT 1 FROM _deliveries e WHERE e.batch_no = o.batch_no AND e.delivery_no <> o.delivery_no)))
       ORDER BY o.delivery_no`,
    ),
    outdated: db.prepare<[string], { versionNo: number; source: string; id: string }>(
      `SELECT l.version_no AS versionNo, l.source, CAST(l.id AS TEXT) AS id FROM json_each(?) j
       CROSS JOIN _deliveries d ON d.delivery_no = j.value CROSS JOIN _versions v ON v.version_no = d.version_no
       CROSS JOIN _leads l ON l.source = v.source AND l.id = v.id
       WHERE l.version_no > v.version_no AND d.event <> 'erased' AND ${HAS_CONTENT}`,
    ),
    moveOn: db.prepare<[number, number]>('UPDATE _deliveries SET version_no = ? WHERE delivery_no = ?'),
    giveWay: db.prepare<[string, number, number]>(SKIP),
    endEmpty: db.prepare<[number, number]>(
      'DELETE FROM _batches WHERE batch_no = ? AND NOT EXISTS (SELECT 1 FROM _deliveries WHERE batch_no = ?)',
    ),
    owe: db.prepare(
      `INSERT INTO _deliveries (version_no, sink_no, replay, was_left_out, event, state, owed_at, next_attempt_at, after_no)
       VALUES (?, ?, ?, ?, ?, 'pending', ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
  };
}
