import type Database from 'better-sqlite3';
import type { Clock } from '../../platform/time/clock.ts';
import type { SinkRows } from '../database/sink-rows.ts';

/** How many deliveries are moved in one transaction. */
const MOVE_CHUNK = 2_000;

/** How far the deliveries of all sinks were moved: up to the one that was due at this time, by the old clock. */
export interface MovePosition {
  readonly sinkNo: number;
  readonly dueAt: number;
  readonly deliveryNo: number;
}

/** What a part has moved, and where the next one begins; undefined when none is left. */
interface MovedChunk {
  readonly moved: number;
  readonly next: MovePosition | undefined;
}

interface LaterRow {
  delivery_no: number;
  next_attempt_at: number;
}

/**
 * Reckons with a clock that was set back, in whole milliseconds. Runs inside its caller's transactions: parts first, `finish`
 * last. A process that dies in between leaves the rest to the next one, which begins anew: some deliveries are due early then.
 */
export class ClockSetting {
  readonly #clock: Clock;
  readonly #rows: SinkRows;
  readonly #sql;

  constructor(db: Database.Database, clock: Clock, rows: SinkRows) {
    this.#clock = clock;
    this.#rows = rows;
    this.#sql = prepare(db);
  }

  /** How far the clock had come when a poll last began, or `finish` last ran. */
  clockAt(): Date {
    return new Date(this.#sql.clockAt.get() ?? 0);
  }

  /** Moves some of the deliveries that are due later and belong to no batch. */
  moveChunk(byMs: number, after: MovePosition | undefined): MovedChunk {
    const now = this.#clock.now().getTime();
    let moved = 0;
    for (const { sinkNo } of this.#rows.all()) {
      if (after && sinkNo < after.sinkNo) continue;
      const from = after?.sinkNo === sinkNo ? after : { dueAt: now, deliveryNo: Number.MAX_SAFE_INTEGER };
      const later = this.#sql.later.all(sinkNo, from.dueAt, from.deliveryNo, MOVE_CHUNK - moved);
      this.#sql.move.run(now, byMs, JSON.stringify(later.map((row) => row.delivery_no)));
      moved += later.length;
      const last = later.at(-1);
      if (last && moved === MOVE_CHUNK)
        return { moved, next: { sinkNo, dueAt: last.next_attempt_at, deliveryNo: last.delivery_no } };
    }
    return { moved, next: undefined };
  }

  /** Moves the batches, with what is in them, and what is known of the sinks. Gives how many deliveries were due later. */
  finish(byMs: number): number {
    const now = this.#clock.now().getTime();
    const moved = this.#sql.moveBatched.run(now, byMs, now).changes;
    this.#sql.moveBatches.run(now, byMs, now);
    // What was complete in the future would count as fresh until the clock comes there again.
    this.#sql.moveComplete.run(now, byMs, now);
    const earlier = (date: Date | undefined) =>
      date && new Date(Math.min(date.getTime(), Math.max(now, date.getTime() - byMs)));
    for (const { name, health } of this.#rows.all())
      this.#rows.setHealth(name, {
        ...health,
        probeAt: earlier(health.probeAt),
        lastDeliveredAt: earlier(health.lastDeliveredAt),
        refusingSince: earlier(health.refusingSince),
      });
    // Last, and with the leases: from here on nobody moves anything for this step of the clock again.
    this.#sql.setClockAt.run(now);
    this.#sql.recordStep.run(now + byMs, now);
    return moved;
  }
}

function prepare(db: Database.Database) {
  const earlier = 'next_attempt_at = max(?, next_attempt_at - ?)';
  return {
    clockAt: db.prepare<[], number>('SELECT clock_at FROM _ledger').pluck(),
    setClockAt: db.prepare('UPDATE _ledger SET clock_at = ?'),
    recordStep: db.prepare('INSERT INTO _clock_set_back (from_at, to_at) VALUES (?, ?)'),
    // In order of the index. What was moved stands before what follows, so it is not met again.
    later: db.prepare<[number, number, number, number], LaterRow>(
      `SELECT delivery_no, next_attempt_at FROM _deliveries WHERE sink_no = ? AND state = 'pending' AND batch_no IS NULL
       AND (next_attempt_at, delivery_no) > (?, ?) ORDER BY next_attempt_at, delivery_no LIMIT ?`,
    ),
    move: db.prepare(
      `UPDATE _deliveries SET ${earlier} WHERE delivery_no IN (SELECT value FROM json_each(?))`,
    ),
    moveBatched: db.prepare(
      `UPDATE _deliveries SET ${earlier} WHERE batch_no IN (SELECT batch_no FROM _batches) AND next_attempt_at > ?`,
    ),
    moveBatches: db.prepare(
      'UPDATE _batches SET leased_until = max(?, leased_until - ?) WHERE leased_until > ?',
    ),
    moveComplete: db.prepare(
      'UPDATE _sources SET complete_at = min(?, complete_at - ?) WHERE complete_at > ?',
    ),
  };
}
