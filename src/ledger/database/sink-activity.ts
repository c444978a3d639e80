import type Database from 'better-sqlite3';
import type { SinkHealth } from '../../leads/sink-health.ts';
import type { HoldKind } from '../contract/sink-activity.ts';
import {
  type AttemptedBatch,
  type AttemptSums,
  addBatch,
  KEPT_MS,
  MAX_HOLDS,
  noAttempts,
  SAME_HOLD_MS,
  SLOT_MS,
} from '../rules/delivering/attempt-sums.ts';
import type { WriteBehind } from './transactions.ts';

/** The sums of a period, as read in the open transaction. */
interface OpenSlot {
  readonly sinkNo: number;
  readonly fromAt: number;
  readonly sums: AttemptSums;
  readonly isNew: boolean;
  changed: boolean;
}

/**
 * Writes what each sink did: the sums of its attempts for each ten minutes of the last week, and its last holds and pauses. Reads and writes
 * the sums of a period only once per transaction, as `SinkRows` does.
 */
export class SinkActivity implements WriteBehind {
  readonly #open = new Map<string, OpenSlot>();
  readonly #sql;

  constructor(db: Database.Database) {
    this.#sql = prepare(db);
  }

  /** Adds the attempt of a batch that ended at `now`. */
  addBatch(sinkNo: number, batch: AttemptedBatch, now: Date): void {
    const slot = this.#slot(sinkNo, Math.floor(now.getTime() / SLOT_MS) * SLOT_MS);
    addBatch(slot.sums, batch);
    slot.changed = true;
  }

  #slot(sinkNo: number, fromAt: number): OpenSlot {
    const key = `${sinkNo} ${fromAt}`;
    const open = this.#open.get(key);
    if (open) return open;
    const stored = this.#sql.sums.get(sinkNo, fromAt);
    const sums = stored === undefined ? noAttempts() : (JSON.parse(stored) as AttemptSums);
    const slot = { sinkNo, fromAt, sums, isNew: stored === undefined, changed: false };
    this.#open.set(key, slot);
    return slot;
  }

  /** Records each hold or pause that began or ended between two health states of a sink. */
  changeHealth(sinkNo: number, before: SinkHealth, after: SinkHealth, now: Date): void {
    this.#change(sinkNo, 'held', [before.heldSince, after.heldSince], after.heldReason, now);
    this.#change(sinkNo, 'paused', [before.pausedSince, after.pausedSince], after.pausedReason, now);
  }

  #change(
    sinkNo: number,
    kind: HoldKind,
    [before, after]: readonly [Date | undefined, Date | undefined],
    reason: string | undefined,
    now: Date,
  ): void {
    if ((before === undefined) === (after === undefined)) return;
    const last = this.#sql.lastHold.get(sinkNo, kind);
    if (after === undefined) {
      if (last?.ended_at === null) this.#sql.endHold.run(now.getTime(), last.hold_no);
      return;
    }
    const pause = last && last.ended_at !== null ? now.getTime() - last.ended_at : -1;
    if (last && pause >= 0 && pause < SAME_HOLD_MS) this.#sql.continueHold.run(reason ?? null, last.hold_no);
    else {
      this.#sql.beginHold.run(sinkNo, kind, now.getTime(), reason ?? null);
      this.#sql.removeHolds.run(sinkNo, sinkNo, MAX_HOLDS);
    }
  }

  flush(): void {
    for (const slot of this.#open.values()) {
      if (!slot.changed) continue;
      const { sinkNo, fromAt, sums, isNew } = slot;
      this.#sql.save.run(sinkNo, fromAt, JSON.stringify(sums));
      if (isNew) this.#sql.removeSums.run(sinkNo, fromAt - KEPT_MS);
      slot.changed = false;
    }
  }

  forget(): void {
    this.#open.clear();
  }
}

/** Combines write-behind caches into one that writes them in order. */
export function writeBehindOf(...parts: readonly WriteBehind[]): WriteBehind {
  return {
    flush: () => {
      for (const part of parts) part.flush();
    },
    forget: () => {
      for (const part of parts) part.forget();
    },
  };
}

function prepare(db: Database.Database) {
  return {
    sums: db
      .prepare<[number, number], string>('SELECT sums FROM _sink_activity WHERE sink_no = ? AND from_at = ?')
      .pluck(),
    save: db.prepare<[number, number, string]>(
      'INSERT INTO _sink_activity (sink_no, from_at, sums) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET sums = excluded.sums',
    ),
    removeSums: db.prepare<[number, number]>('DELETE FROM _sink_activity WHERE sink_no = ? AND from_at < ?'),
    lastHold: db.prepare<[number, string], { hold_no: number; ended_at: number | null }>(
      'SELECT hold_no, ended_at FROM _sink_holds WHERE sink_no = ? AND kind = ? ORDER BY hold_no DESC LIMIT 1',
    ),
    beginHold: db.prepare<[number, string, number, string | null]>(
      'INSERT INTO _sink_holds (sink_no, kind, began_at, reason) VALUES (?, ?, ?, ?)',
    ),
    continueHold: db.prepare<[string | null, number]>(
      'UPDATE _sink_holds SET ended_at = NULL, times = times + 1, reason = ? WHERE hold_no = ?',
    ),
    endHold: db.prepare<[number, number]>('UPDATE _sink_holds SET ended_at = ? WHERE hold_no = ?'),
    removeHolds: db.prepare<[number, number, number]>(
      `DELETE FROM _sink_holds WHERE sink_no = ? AND hold_no <= (SELECT hold_no FROM _sink_holds WHERE sink_no = ?
       ORDER BY hold_no DESC LIMIT 1 OFFSET ?)`,
    ),
  };
}
