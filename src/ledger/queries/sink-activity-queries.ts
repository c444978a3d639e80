import type Database from 'better-sqlite3';
import type { ActivityRequest, FailureReasons, SinkActivity, SinkTotals } from '../contract/sink-activity.ts';
import type { SinkRows } from '../database/sink-rows.ts';
import { failureReasonsOf, MAX_REASONS_OF_SINK, readOfSink } from '../rules/queries/failure-reasons.ts';
import {
  type AttemptRow,
  activityOf,
  ageRanges,
  type HoldRow,
  MAX_HOLDS,
  MAX_JUDGED,
  MAX_PENDING,
  MAX_READ,
  MAX_REASONS,
  MAX_RECENT,
  type ReasonRow,
  type Slot,
  slotsOf,
  totalsOfSlots,
} from '../rules/queries/sink-activity.ts';
import { deliveryId } from '../schema/views.ts';
import { LeadStatistics } from './lead-statistics.ts';

/** Reads what one sink did. Each query reads a limited number of rows, or counts the entries of an index. */
export class SinkActivityQueries {
  readonly #rows: SinkRows;
  readonly #statistics: LeadStatistics;
  readonly #sql;

  constructor(db: Database.Database, rows: SinkRows) {
    this.#rows = rows;
    this.#statistics = new LeadStatistics(db);
    this.#sql = prepare(db);
  }

  /** Returns the activity of a sink; undefined if the ledger does not know the sink. */
  of(sink: string, request: ActivityRequest): SinkActivity | undefined {
    const row = this.#rows.get(sink);
    if (!row) return undefined;
    const { sinkNo } = row;
    const { since, end } = slotsOf(request);
    return activityOf(request, {
      slots: this.#sql.slots.all(sinkNo, since, end),
      firstSlot: this.#sql.firstSlot.get(sinkNo),
      speed: this.#statistics.speedOf(sink, new Date(since)),
      holds: this.#sql.holds.all(sinkNo, MAX_HOLDS),
      ages: ageRanges(request.now).map(
        ([after, until]) => this.#sql.pending.get(sinkNo, after, until, MAX_PENDING) ?? 0,
      ),
      pending: row.counts.pending,
      dead: this.#sql.dead.all(sinkNo, MAX_JUDGED, MAX_REASONS),
      failed: this.#sql.failed.all(sinkNo, MAX_JUDGED, MAX_REASONS),
      recent: this.#recent(sinkNo),
      recentFailed: this.#sql.failedAttempts.all(MAX_READ, sinkNo, MAX_RECENT),
    });
  }

  /** Returns the attempts of every sink in a period, from the sums. */
  totals(request: Omit<ActivityRequest, 'stepMs'>): SinkTotals[] {
    const { since, end } = slotsOf(request);
    return this.#rows.all().map(({ name, sinkNo }) => ({
      sink: name,
      total: totalsOfSlots(this.#sql.slots.all(sinkNo, since, end)),
    }));
  }

  /** Returns why deliveries are dead or failed, over all sinks. */
  failureReasons(): FailureReasons {
    const sinks = this.#rows.all().filter(({ counts }) => counts.dead + counts.pending > 0);
    const most = readOfSink(sinks.length);
    const read = sinks.flatMap(({ name: sink, sinkNo }) => [
      { sink, state: 'dead' as const, rows: this.#sql.dead.all(sinkNo, most, MAX_REASONS_OF_SINK) },
      { sink, state: 'pending' as const, rows: this.#sql.failed.all(sinkNo, most, MAX_REASONS_OF_SINK) },
    ]);
    return failureReasonsOf(read, most);
  }

  /** Returns the last attempts. The sums of each period contain the range of `_attempts` that includes the sink's attempts in that period. */
  #recent(sinkNo: number): AttemptRow[] {
    const found: AttemptRow[] = [];
    let left = MAX_READ;
    for (const { first, last } of this.#sql.ranges.iterate(sinkNo)) {
      if (found.length >= MAX_RECENT || left <= 0) break;
      const from = Math.max(first, last - left + 1);
      left -= last - from + 1;
      found.push(...this.#sql.attempts.all(from, last, sinkNo, MAX_RECENT - found.length));
    }
    return found;
  }
}

function prepare(db: Database.Database) {
  const reasons = (index: string, condition: string, order: string) =>
    db.prepare<[number, number, number], ReasonRow>(
      `SELECT reason, count(*) AS deliveries, sum(count(*)) OVER () AS "all" FROM (SELECT reason FROM _deliveries INDEXED BY ${index}
       WHERE sink_no = ? AND ${condition} ORDER BY ${order} LIMIT ?) GROUP BY reason ORDER BY deliveries DESC, reason LIMIT ?`,
    );
  const attempts = (from: string, condition: string) =>
    `SELECT ${deliveryId} AS delivery, v.source, CAST(v.id AS TEXT) AS lead, a.started_at, a.duration_ms, a.outcome, a.http_status, a.error,
       coalesce(a.answer <> '', 0) AS answered, a.times, a.last_at
       FROM ${from} CROSS JOIN _deliveries d ON d.delivery_no = a.delivery_no
       CROSS JOIN _versions v ON v.version_no = d.version_no CROSS JOIN _sinks s ON s.sink_no = d.sink_no
       WHERE ${condition} AND d.sink_no = ? ORDER BY a.attempt_no DESC LIMIT ?`;
  return {
    slots: db.prepare<[number, number, number], Slot>(
      'SELECT from_at, sums FROM _sink_activity WHERE sink_no = ? AND from_at >= ? AND from_at < ? ORDER BY from_at',
    ),
    firstSlot: db
      .prepare<[number], number | null>('SELECT min(from_at) FROM _sink_activity WHERE sink_no = ?')
      .pluck(),
    ranges: db.prepare<[number], { first: number; last: number }>(
      `SELECT sums ->> '$.first' AS first, sums ->> '$.last' AS last FROM _sink_activity
       WHERE sink_no = ? AND sums ->> '$.last' IS NOT NULL ORDER BY from_at DESC`,
    ),
    attempts: db.prepare<[number, number, number, number], AttemptRow>(
      attempts('_attempts a', 'a.attempt_no BETWEEN ? AND ?'),
    ),
    failedAttempts: db.prepare<[number, number, number], AttemptRow>(
      attempts(
        '_attempts a INDEXED BY _attempts_failed',
        `a.outcome <> 'delivered' AND a.attempt_no > coalesce((SELECT attempt_no FROM _attempts INDEXED BY _attempts_failed
         WHERE outcome <> 'delivered' ORDER BY attempt_no DESC LIMIT 1 OFFSET ?), 0)`,
      ),
    ),
    holds: db.prepare<[number, number], HoldRow>(
      'SELECT kind, began_at, ended_at, times, reason FROM _sink_holds WHERE sink_no = ? ORDER BY hold_no DESC LIMIT ?',
    ),
    pending: db
      .prepare<[number, number, number, number], number>(
        `SELECT count(*) FROM (SELECT 1 FROM _deliveries INDEXED BY _deliveries_pending
         WHERE sink_no = ? AND state = 'pending' AND owed_at > ? AND owed_at <= ? LIMIT ?)`,
      )
      .pluck(),
    dead: reasons('_deliveries_given_up', "state = 'dead'", 'owed_at DESC, delivery_no DESC'),
    failed: reasons('_deliveries_retrying', "state = 'pending' AND reason IS NOT NULL", 'next_attempt_at'),
  };
}
