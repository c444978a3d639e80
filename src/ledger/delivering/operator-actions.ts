import type Database from 'better-sqlite3';
import type { DeliveryState } from '../../leads/delivery.ts';
import { HEALTHY } from '../../leads/sink-health.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { DeliveryFilter } from '../contract/ledger-queries.ts';
import type { Rows } from '../contract/page-rows.ts';
import type { SinkRows } from '../database/sink-rows.ts';
import { DeliveryList } from '../queries/delivery-list.ts';
import type { Cursor } from '../queries/keyset-page.ts';
import { OVERTAKEN } from './order-sql.ts';

/** Retries deliveries, and pauses and resumes sinks, for an operator. Runs inside its caller's transaction. */
export class OperatorActions {
  readonly #clock: Clock;
  readonly #rows: SinkRows;
  readonly #deliveries: DeliveryList;
  readonly #sql;

  constructor(db: Database.Database, clock: Clock, rows: SinkRows) {
    this.#clock = clock;
    this.#rows = rows;
    this.#deliveries = new DeliveryList(db);
    this.#sql = prepare(db);
  }

  /** Returns the numbers of the next deliveries that match the filter of a retry. Only reads. */
  retriable(filter: DeliveryFilter, limit: number, after: Cursor): Rows<number> {
    return this.#deliveries.numbers(
      { ...filter, states: filter.states ?? ['dead', 'pending'] },
      limit,
      after,
    );
  }

  /**
   * Makes these deliveries due now. Leaves out those that are in a leased batch, that are neither pending nor dead any more, that are dead
   * and followed by a later delivery of the lead, or whose lead has no content. Returns how many it made due.
   */
  retry(deliveries: readonly number[]): number {
    const now = this.#clock.now().getTime();
    const retried = deliveries.flatMap((delivery) => {
      const row = this.#sql.waits.get(delivery);
      if (!row) return [];
      this.#sql.due.run(now, now, delivery);
      if (row.batch_no !== null) this.#sql.wake.run(now, row.batch_no);
      return [row];
    });
    for (const [sink, rows] of Map.groupBy(retried, (row) => row.sink)) {
      const dead = rows.filter(({ state }) => state === 'dead').length;
      this.#rows.count(sink, 'dead', -dead);
      this.#rows.count(sink, 'pending', dead);
    }
    return retried.length;
  }

  pause(name: string, reason: string): boolean {
    const sink = this.#rows.get(name);
    if (!sink) return false;
    if (!sink.health.pausedSince) {
      this.#rows.setHealth(name, {
        ...sink.health,
        pausedSince: this.#clock.now(),
        pausedReason: reason,
      });
    }
    return true;
  }

  /** Ends a pause or a hold. Deliveries that wait for the next probe become due now, because an operator expects that. */
  resume(name: string): boolean {
    const sink = this.#rows.get(name);
    if (!sink) return false;
    const { heldSince, probeAt, lastDeliveredAt, quota } = sink.health;
    const renewedAt = this.#clock.now();
    if (heldSince && probeAt) {
      const now = renewedAt.getTime();
      this.#sql.hurry.run(now, sink.sinkNo, now, probeAt.getTime());
      this.#sql.hurryBatches.run(now, sink.sinkNo, now, probeAt.getTime());
    }
    this.#rows.setHealth(name, { ...HEALTHY, lastDeliveredAt, renewedAt, quota });
    return true;
  }
}

function prepare(db: Database.Database) {
  return {
    waits: db.prepare<[number], { batch_no: number | null; sink: string; state: DeliveryState }>(
      `SELECT d.batch_no, s.sink, d.state FROM _deliveries d JOIN _sinks s ON s.sink_no = d.sink_no
       JOIN _versions v ON v.version_no = d.version_no LEFT JOIN _batches b ON b.batch_no = d.batch_no
       WHERE d.delivery_no = ? AND (d.event = 'erased' OR v.raw <> json_object('id', v.id))
       AND (d.state = 'pending' OR (d.state = 'dead' AND NOT ${OVERTAKEN})) AND (b.batch_no IS NULL OR b.lease = 0)`,
    ),
    due: db.prepare<[number, number, number]>(
      `UPDATE _deliveries SET state = 'pending', reason = NULL, attempts = 0, excused = 0, settled_at = NULL, next_attempt_at = ?,
       retried_at = iif(refused_at IS NULL, retried_at, ?), refused_at = NULL, bound = iif(bound = 1, 2, bound) WHERE delivery_no = ?`,
    ),
    hurry: db.prepare<[number, number, number, number]>(
      "UPDATE _deliveries SET next_attempt_at = ? WHERE sink_no = +? AND state = 'pending' AND next_attempt_at > +? AND next_attempt_at <= +?",
    ),
    hurryBatches: db.prepare<[number, number, number, number]>(
      'UPDATE _batches SET leased_until = ? WHERE sink_no = +? AND lease = 0 AND leased_until > +? AND leased_until <= +?',
    ),
    wake: db.prepare<[number, number]>(
      'UPDATE _batches SET leased_until = ? WHERE batch_no = ? AND lease = 0',
    ),
  };
}
