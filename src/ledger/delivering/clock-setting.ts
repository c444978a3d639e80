import type Database from 'better-sqlite3';
import type { Clock } from '../../platform/time/clock.ts';
import type { SinkRows } from '../database/sink-rows.ts';

/** Maximum number of deliveries moved in one transaction. */
const MOVE_CHUNK = 2_000;

/** The delivery that was moved last: its sink, its due time before the move in ms since 1970, and its number. */
export interface MovePosition {
  readonly sinkNo: number;
  readonly dueAt: number;
  readonly deliveryNo: number;
}

/** How many deliveries a chunk moved, and after which delivery the next chunk begins. `next` is undefined if no delivery is left. */
interface MovedChunk {
  readonly moved: number;
  readonly next: MovePosition | undefined;
}

interface LaterRow {
  delivery_no: number;
  next_attempt_at: number;
}

/**
 * Moves stored times back by a number of whole milliseconds after the clock was set back. `controlOf` calls `moveChunk` until it returns no
 * `next`, and then `finish`, each in its own transaction. If the process dies before `finish`, the next process begins again and moves, for a
 * second time, the deliveries in chunks that were already moved, so these deliveries are due early. `finish` moves everything else exactly
 * once.
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

  /** Returns when the latest poll began, or when `finish` last ran if that was later. */
  clockAt(): Date {
    return new Date(this.#sql.clockAt.get() ?? 0);
  }

  /** Moves back the due times of one chunk of the deliveries that are not due yet and are in no batch. */
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

  /** Moves the times of batches and their deliveries, and of sources and sinks. Returns how many deliveries in batches it moved. */
  finish(byMs: number): number {
    const now = this.#clock.now().getTime();
    const moved = this.#sql.moveBatched.run(now, byMs, now).changes;
    this.#sql.moveBatches.run(now, byMs, now);
    // A complete listing with a time in the future would count as fresh until the clock reaches that time again.
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
    // In the same transaction as the leases, so that after the commit no process moves anything for this clock step again.
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
    // In the order of the index. Moved rows are due earlier than the rows of the next chunk, so that no later chunk finds them again.
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
