import type Database from 'better-sqlite3';
import type { DeliveryState } from '../../leads/delivery.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { ActionGroup, DiscardNote } from '../contract/ledger-control.ts';
import type { SinkActivity } from '../database/sink-activity.ts';
import type { SinkRows } from '../database/sink-rows.ts';
import { OVERTAKEN } from '../delivering/content-order-sql.ts';
import { discardReason, resumed } from '../rules/control/operator-actions.ts';
import type { SinkRow } from '../rules/delivering/sink-row.ts';

/** A delivery that an action changes, as it was before. */
interface ChangedRow {
  readonly batch_no: number | null;
  readonly sink: string;
  readonly source: string;
  readonly state: DeliveryState;
  readonly reason: string | null;
}

/** Retries and discards deliveries, and pauses and resumes sinks, for an operator. Runs inside its caller's transaction. */
export class OperatorActions {
  readonly #clock: Clock;
  readonly #rows: SinkRows;
  readonly #activity: SinkActivity;
  readonly #sql;

  constructor(db: Database.Database, clock: Clock, rows: SinkRows, activity: SinkActivity) {
    this.#clock = clock;
    this.#rows = rows;
    this.#activity = activity;
    this.#sql = prepare(db);
  }

  /**
   * Makes these deliveries due now. Leaves out those that `retriable` leaves out. Returns how many it made due.
   * @param discarded whether to retry discarded deliveries, too; if not, a delivery that was discarded after it was selected stays discarded
   */
  retry(deliveries: readonly number[], discarded: boolean): number {
    const now = this.#clock.now().getTime();
    const retried = deliveries.flatMap((delivery) => {
      const row = this.#sql.waits.get(delivery);
      if (!row || (row.state === 'skipped' && !discarded)) return [];
      this.#sql.due.run(now, now, delivery);
      if (row.batch_no !== null) this.#sql.wake.run(now, row.batch_no);
      return [row];
    });
    this.#move(retried, 'pending');
    return retried.length;
  }

  /**
   * Describes the given deliveries that a retry would make due. Leaves out deliveries in a leased batch, deliveries that are no longer
   * pending, dead or discarded, dead and discarded deliveries that have a later delivery of the same lead (see `OVERTAKEN`), and deliveries of
   * a lead without content.
   */
  retriable(deliveries: readonly number[]): ActionGroup[] {
    return deliveries.flatMap((delivery) => groupOf(this.#sql.waits.get(delivery)));
  }

  /** Discards the given deliveries that are dead. Returns how many it discarded. */
  discard(deliveries: readonly number[], note: DiscardNote): number {
    const now = this.#clock.now().getTime();
    const discarded = deliveries.flatMap((delivery) => {
      const row = this.#sql.dead.get(delivery);
      if (!row) return [];
      this.#sql.discard.run(discardReason(note, row.reason), now, delivery);
      return [row];
    });
    this.#move(discarded, 'skipped');
    return discarded.length;
  }

  /** Describes the given deliveries that are dead. */
  discardable(deliveries: readonly number[]): ActionGroup[] {
    return deliveries.flatMap((delivery) => groupOf(this.#sql.dead.get(delivery)));
  }

  /** Counts deliveries in their new state. */
  #move(rows: readonly ChangedRow[], to: DeliveryState): void {
    for (const { sink, state } of rows) {
      if (state === to) continue;
      this.#rows.count(sink, state, -1);
      this.#rows.count(sink, to, 1);
    }
  }

  pause(name: string, reason: string): boolean {
    const sink = this.#rows.get(name);
    if (!sink) return false;
    const now = this.#clock.now();
    if (!sink.health.pausedSince)
      this.#setHealth(sink, { ...sink.health, pausedSince: now, pausedReason: reason }, now);
    return true;
  }

  /** Ends a pause, and makes the next probe of a held sink due now. See `resumed`. */
  resume(name: string): boolean {
    const sink = this.#rows.get(name);
    if (!sink) return false;
    const { health } = sink;
    const { heldSince, probeAt } = health;
    const now = this.#clock.now();
    // Deliveries that wait for the next probe become due with it, so that one of them can be the probe.
    if (heldSince && probeAt) this.#hurry(sink, now, probeAt);
    this.#setHealth(sink, resumed(health, now), now);
    return true;
  }

  #hurry({ sinkNo }: SinkRow, now: Date, until: Date): void {
    this.#sql.hurry.run(now.getTime(), sinkNo, now.getTime(), until.getTime());
    this.#sql.hurryBatches.run(now.getTime(), sinkNo, now.getTime(), until.getTime());
  }

  #setHealth({ name, sinkNo, health }: SinkRow, after: SinkHealth, now: Date): void {
    this.#rows.setHealth(name, after);
    this.#activity.changeHealth(sinkNo, health, after, now);
  }
}

function groupOf(row: ChangedRow | undefined): ActionGroup[] {
  if (!row) return [];
  const { sink, source, state, reason } = row;
  return [{ sink, source, state, reason: reason ?? undefined, deliveries: 1 }];
}

function prepare(db: Database.Database) {
  return {
    waits: db.prepare<[number], ChangedRow>(
      `SELECT d.batch_no, s.sink, v.source, d.state, d.reason FROM _deliveries d JOIN _sinks s ON s.sink_no = d.sink_no
       JOIN _versions v ON v.version_no = d.version_no LEFT JOIN _batches b ON b.batch_no = d.batch_no
       WHERE d.delivery_no = ? AND (d.event = 'erased' OR v.raw <> json_object('id', v.id))
       AND (d.state = 'pending' OR ((d.state = 'dead' OR d.state = 'skipped' AND d.discarded = 1) AND NOT ${OVERTAKEN})) AND (b.batch_no IS NULL OR b.lease = 0)`,
    ),
    dead: db.prepare<[number], ChangedRow>(
      `SELECT d.batch_no, s.sink, v.source, d.state, d.reason FROM _deliveries d JOIN _sinks s ON s.sink_no = d.sink_no
       JOIN _versions v ON v.version_no = d.version_no WHERE d.delivery_no = ? AND d.state = 'dead'`,
    ),
    discard: db.prepare<[string, number, number]>(
      "UPDATE _deliveries SET state = 'skipped', reason = ?, settled_at = ?, discarded = 1 WHERE delivery_no = ?",
    ),
    due: db.prepare<[number, number, number]>(
      `UPDATE _deliveries SET state = 'pending', reason = NULL, attempts = 0, excused = 0, settled_at = NULL, next_attempt_at = ?,
       retried_at = iif(refused_at IS NULL, retried_at, ?), refused_at = NULL, bound = iif(bound = 1, 2, bound),
       discarded = iif(discarded = 1, 2, discarded) WHERE delivery_no = ?`,
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
