import type Database from 'better-sqlite3';
import type { Clock } from '../../platform/time/clock.ts';
import type { SinkRows } from '../database/sink-rows.ts';
import { SKIP } from '../privacy/erasing.ts';
import {
  type CancelStep,
  CHUNK,
  isCancellable,
  type ReplayedRow,
  totalsOf,
} from '../rules/control/cancelling.ts';
import { CANCELLED, REPLACED } from '../rules/delivering/superseding.ts';

/**
 * Cancels the replays of a sink: skips their pending deliveries, apart from those that `ReplayCancellation` counts as `attempted` or `needed`. Every
 * method runs inside its caller's transaction.
 */
export class Cancelling {
  readonly #clock: Clock;
  readonly #rows: SinkRows;
  readonly #sql;

  constructor(db: Database.Database, clock: Clock, rows: SinkRows) {
    this.#clock = clock;
    this.#rows = rows;
    this.#sql = prepare(db);
  }

  /** Ends the sink's replays that have not yet recorded all of their leads as owed. Returns false if there is no such sink. */
  stop(name: string): boolean {
    const sink = this.#rows.get(name);
    if (!sink) return false;
    this.#sql.stop.run(sink.sinkNo);
    return true;
  }

  /** Returns what `cancel` would return for the same arguments. Changes nothing. */
  count(name: string, after: number): CancelStep {
    return totalsOf(this.#replayed(name, after));
  }

  /** Makes one step: reads the next pending deliveries of replays after the number `after`, and cancels those that can be cancelled. */
  cancel(name: string, after: number): CancelStep {
    const rows = this.#replayed(name, after);
    const now = this.#clock.now().getTime();
    for (const { delivery_no, batch_no } of rows.filter(isCancellable)) {
      this.#sql.skip.run(CANCELLED, now, delivery_no);
      if (batch_no !== null) this.#sql.endEmpty.run(batch_no, batch_no);
    }
    const totals = totalsOf(rows);
    this.#rows.count(name, 'pending', -totals.cancelled);
    this.#rows.count(name, 'skipped', totals.cancelled);
    return totals;
  }

  #replayed(name: string, after: number): ReplayedRow[] {
    const sink = this.#rows.get(name);
    if (!sink) return [];
    const asks = sink.events.includes('updated') ? 1 : 0;
    return this.#sql.replayed.all({ sink: sink.sinkNo, after, asks, limit: CHUNK });
  }
}

/** The deliveries, under an alias, of the same lead to the same sink as the delivery `d` of the version `v`. */
const others = (alias: string) =>
  `_versions ${alias}v CROSS JOIN _deliveries ${alias} ON ${alias}.version_no = ${alias}v.version_no
   WHERE ${alias}v.source = v.source AND ${alias}v.id = v.id AND ${alias}.sink_no = d.sink_no AND ${alias}.event <> 'erased'`;

/** Whether the delivery with this alias has a version that was recorded after its replay was requested. */
const isOfChange = (alias: string) => `${alias}.version_no > coalesce(
  (SELECT min(r.bound) FROM _replays r WHERE r.sink_no = ${alias}.sink_no AND r.asked_at = ${alias}.replay), 0)`;

/**
 * Whether the replay replaced a delivery that waited for a retry, and no other delivery has taken its place since. The replaced delivery did
 * not belong to a replay itself, unless it carried a change that the sink was owed.
 */
const REPLACED_ANOTHER = `EXISTS (SELECT 1 FROM ${others('o')} AND o.delivery_no < d.delivery_no AND o.state = 'skipped' AND o.reason = '${REPLACED}'
  AND (o.replay = 0 OR (${isOfChange('o')} AND (:asks OR NOT EXISTS (SELECT 1 FROM ${others('h')} AND h.state = 'delivered'))))
  AND NOT EXISTS (SELECT 1 FROM ${others('f')} AND f.delivery_no > o.delivery_no AND f.delivery_no <> d.delivery_no
    AND (f.state <> 'skipped' OR f.discarded = 1) AND (f.replay = 0 OR f.state = 'delivered')))`;

/**
 * Whether the lead changed after the replay was requested, and the replay carries the new version, which the sink gets in no other delivery. A
 * sink that does not subscribe to updates needs the new version only if it has no version of the lead.
 */
const CARRIES_CHANGE = `(${isOfChange('d')}
  AND NOT EXISTS (SELECT 1 FROM ${others('g')} AND g.delivery_no <> d.delivery_no
    AND iif(:asks, g.version_no = d.version_no AND g.state <> 'skipped' AND (g.replay = 0 OR g.state = 'delivered'), g.state = 'delivered')))`;

function prepare(db: Database.Database) {
  return {
    stop: db.prepare<[number]>('UPDATE _replays SET through = bound WHERE sink_no = ? AND through < bound'),
    replayed: db.prepare<[{ sink: number; after: number; asks: 0 | 1; limit: number }], ReplayedRow>(
      `SELECT d.delivery_no, d.batch_no,
       b.holder IS NOT NULL OR (d.unsure_at IS NOT NULL AND EXISTS
         (SELECT 1 FROM _deliveries e WHERE e.batch_no = d.batch_no AND e.delivery_no <> d.delivery_no)) AS attempted,
       ${REPLACED_ANOTHER} OR ${CARRIES_CHANGE} AS needed
       FROM _deliveries d INDEXED BY _deliveries_replays CROSS JOIN _versions v ON v.version_no = d.version_no
       LEFT JOIN _batches b ON b.batch_no = d.batch_no
       WHERE d.sink_no = +:sink AND d.state = 'pending' AND d.replay > 0 AND d.delivery_no > +:after ORDER BY d.delivery_no LIMIT +:limit`,
    ),
    skip: db.prepare<[string, number, number]>(SKIP),
    endEmpty: db.prepare<[number, number]>(
      'DELETE FROM _batches WHERE batch_no = ? AND NOT EXISTS (SELECT 1 FROM _deliveries WHERE batch_no = ?)',
    ),
  };
}
