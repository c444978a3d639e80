import type Database from 'better-sqlite3';
import type { Batch, BatchRef, Delivery, LeadEvent } from '../leads/delivery.ts';
import type { Attempted, Judge, Verdict } from '../leads/judge.ts';
import { mayHaveArrived, type Outcome } from '../leads/outcome.ts';
import type { Clock } from '../platform/clock.ts';
import { reach } from '../platform/failpoint.ts';
import { batchNumber } from './claiming.ts';
import { ERASED, MARK_UNSURE, SKIP } from './erasing.ts';
import type { Attempt, Settled } from './ledger-delivering.ts';
import type { NewestContent } from './newest-content.ts';
import { OVERTAKEN } from './order-sql.ts';
import { Results } from './results.ts';
import { HAS_CONTENT } from './retaining.ts';
import type { SinkRow, SinkRows } from './sink-rows.ts';
import { changedAt, deliveryId } from './views.ts';

interface DeliveryRow {
  delivery_no: number;
  /** Its lead was erased since, and it does not tell of that. */
  gone: 0 | 1;
  /** The version that its lead has now, when that is a newer one; null: there is none, or the delivery has to stay as it is. */
  newest: number | null;
  delivery: string;
  source: string;
  id: string;
  version: number;
  event: LeadEvent;
  replay: number;
  first_seen_at: number;
  valid_from: number;
  poll_id: number;
  hash: string;
  raw: string;
}

/** A batch whose attempt has begun and was not asked for yet. */
export interface Begun {
  readonly batch: Batch;
  readonly lease: number;
  readonly until: number;
}

interface BegunRow {
  created_at: number;
  leased_until: number;
}

interface PendingRow {
  delivery_no: number;
  attempts: number;
  refused_at: number | null;
  retried_at: number | null;
  event: LeadEvent;
  waiting_since: number;
}

/** From a batch on its way to what became of it. Runs inside its caller's transaction. */
export class Settling {
  readonly #clock: Clock;
  readonly #judge: Judge;
  readonly #rows: SinkRows;
  readonly #results: Results;
  readonly #newest: NewestContent;
  readonly #sql;

  constructor(db: Database.Database, clock: Clock, rows: SinkRows, judge: Judge, newest: NewestContent) {
    this.#clock = clock;
    this.#newest = newest;
    this.#judge = judge;
    this.#rows = rows;
    this.#results = new Results(db);
    this.#sql = prepare(db);
  }

  begin(ref: BatchRef, leaseMs: number, holder: string): Batch | undefined {
    const batchNo = batchNumber(ref.batch);
    // The fence: one attempt for a lease, and none for a lease that is over.
    const now = this.#clock.now().getTime();
    if (this.#putBack(ref, batchNo, now)) return undefined;
    const createdAt = this.#sql.begin.get(holder, now + leaseMs, batchNo, ref.lease, now);
    return createdAt === undefined ? undefined : this.#load(ref, batchNo, createdAt);
  }

  /** A batch whose attempt began when it was claimed. */
  begun(ref: BatchRef): Begun | undefined {
    const batchNo = batchNumber(ref.batch);
    const { created_at, leased_until } = this.#sql.begun.get(batchNo, ref.lease) as BegunRow;
    const batch = this.#load(ref, batchNo, created_at);
    return batch && { batch, lease: ref.lease, until: leased_until };
  }

  /** The attempt was never made: it can still be, under the same lease. */
  giveBack({ batch, lease }: Begun): void {
    this.#sql.giveBack.run(batchNumber(batch.id), lease);
  }

  /** Without leads that were erased since an attempt of them began: they have no content. Undefined when nothing is left. */
  #load(ref: BatchRef, batchNo: number, createdAt: number): Batch | undefined {
    const [gone, rows] = [[] as number[], [] as DeliveryRow[]];
    for (const row of this.#loadNewest(ref, batchNo))
      if (row.gone === 1) gone.push(row.delivery_no);
      else rows.push(row);
    const now = this.#clock.now().getTime();
    for (const delivery of gone) this.#sql.skip.run(ERASED, now, delivery);
    this.#rows.count(ref.sink, 'pending', -gone.length);
    this.#rows.count(ref.sink, 'skipped', gone.length);
    if (rows.length === 0) {
      this.#sql.end.run(batchNo);
      return undefined;
    }
    const deliveries = rows.map(toDelivery);
    return { id: ref.batch, sink: ref.sink, createdAt: new Date(createdAt), deliveries };
  }

  /**
   * The deliveries of a batch, each in its lead's newest content unless the one that it was owed in may have arrived. The last moment
   * at which that can be seen to: a lead may have changed while the sink was away, or the batch in a queue.
   */
  #loadNewest(ref: BatchRef, batchNo: number): DeliveryRow[] {
    const rows = this.#sql.load.all(batchNo);
    const sink = this.#rows.get(ref.sink);
    const outdated = rows.filter(({ newest }) => newest !== null);
    if (!sink || outdated.length === 0) return rows;
    const now = this.#clock.now().getTime();
    for (const { newest, source, id } of outdated) {
      const version = { versionNo: newest as number, source, id: BigInt(id) };
      const owed = this.#newest.bringUp(sink, version, now, batchNo);
      if (owed !== undefined) this.#sql.join.run(batchNo, owed);
    }
    return this.#sql.load.all(batchNo);
  }

  /** What was on its way when its sink was paused or held is not attempted: it waits, as the same batch, with the others. */
  #putBack(ref: BatchRef, batchNo: number, now: number): boolean {
    const health = this.#rows.get(ref.sink)?.health;
    const probeAt = health?.probeAt?.getTime() ?? now;
    if (!health?.pausedSince && probeAt <= now) return false;
    return this.#sql.putBack.run(probeAt, batchNo, ref.lease).changes > 0;
  }

  settle(ref: BatchRef, attempt: Attempt): Settled | undefined {
    const batchNo = batchNumber(ref.batch);
    const sink = this.#rows.get(ref.sink);
    // The fence: nothing is found under a lease that is not the current one. Whoever holds a newer one settles this batch.
    const pending = this.#sql.pending.all(batchNo, ref.lease);
    if (!sink || pending.length === 0) return undefined;
    if (pending.length !== attempt.outcomes.length) {
      throw new Error(
        `sink ${ref.sink} gave ${attempt.outcomes.length} outcomes for ${pending.length} deliveries`,
      );
    }
    const now = this.#clock.now();
    const attempted = pending.map((row, index) => ({
      attempts: row.attempts,
      waitingSince: new Date(row.waiting_since),
      refusedAt: row.refused_at === null ? undefined : new Date(row.refused_at),
      retried: row.retried_at !== null,
      ofErased: row.event === 'erased',
      outcome: attempt.outcomes[index] as Outcome,
    }));
    const judgement = this.#judge(ref.sink, sink.health, attempted, now);
    const kept = this.#keepOrEnd(batchNo, attempted, judgement.verdicts);
    const results = pending.map(({ delivery_no, attempts }, index) => ({
      deliveryNo: delivery_no,
      outcome: attempt.outcomes[index] as Outcome,
      verdict: judgement.verdicts[index] as Verdict,
      attemptsBefore: attempts,
    }));
    const keptUnsure = kept && attempt.outcomes.some(mayHaveArrived);
    const times = { attempt, now: now.getTime(), batchNo, kept, keptUnsure };
    this.#results.write(results, times);
    this.#rows.setHealth(ref.sink, judgement.health);
    this.#count(ref.sink, judgement.verdicts);
    const failed = results.filter(({ verdict }) => verdict.state !== 'delivered');
    this.#newest.bringUpFailed(
      sink,
      failed.map(({ deliveryNo }) => deliveryNo),
      now.getTime(),
    );
    const revived = judgement.reviveSince
      ? this.#revive(sink, judgement.reviveSince, judgement.health.probeAt ?? now)
      : 0;
    reach('settling');
    return { verdicts: judgement.verdicts, before: sink.health, after: judgement.health, revived };
  }

  /**
   * A batch of which nothing is settled is attempted again as the same batch, under a new lease, when its time has come.
   * One that was tried in part is not: the leads that were refused would stand before the others again.
   */
  #keepOrEnd(batchNo: number, attempted: readonly Attempted[], verdicts: readonly Verdict[]): boolean {
    const due = verdicts.map((verdict) =>
      verdict.state === 'pending' ? verdict.nextAttemptAt?.getTime() : undefined,
    );
    const untried = attempted.some(({ outcome }) => outcome.kind === 'untried');
    const whole = !untried && due.every((time) => time !== undefined);
    if (whole) this.#sql.keep.run(Math.min(...due), batchNo);
    else this.#sql.end.run(batchNo);
    return whole;
  }

  #count(sink: string, verdicts: readonly Verdict[]): void {
    for (const state of ['delivered', 'dead'] as const) {
      const moved = verdicts.filter((verdict) => verdict.state === state).length;
      this.#rows.count(sink, state, moved);
      this.#rows.count(sink, 'pending', -moved);
    }
  }

  #revive(sink: SinkRow, since: Date, dueAt: Date): number {
    const at = since.getTime();
    const revived = this.#sql.revive.run(dueAt.getTime(), sink.sinkNo, at, at).changes;
    this.#rows.count(sink.name, 'dead', -revived);
    this.#rows.count(sink.name, 'pending', revived);
    return revived;
  }

  holders(): string[] {
    return this.#sql.holders.all();
  }

  release(ref: BatchRef, holder: string): boolean {
    const now = this.#clock.now().getTime();
    const batchNo = batchNumber(ref.batch);
    const isReleased = this.#sql.release.run(now, batchNo, ref.lease, holder).changes > 0;
    if (isReleased) this.#sql.markUnsure.run(now, batchNo);
    return isReleased;
  }

  endLeasesOf(holder: string): number {
    return this.#sql.endLeases.run(holder).changes;
  }
}

function toDelivery(row: DeliveryRow): Delivery {
  return {
    id: row.delivery,
    source: row.source,
    leadId: BigInt(row.id),
    version: row.version,
    event: row.event,
    replay: row.replay > 0,
    firstSeenAt: new Date(row.first_seen_at),
    changedAt: new Date(row.valid_from),
    poll: row.poll_id,
    hash: row.hash,
    raw: row.raw,
  };
}

function prepare(db: Database.Database) {
  return {
    begin: db
      .prepare<[string, number, number, number, number], number>(
        'UPDATE _batches SET holder = ?, leased_until = ? WHERE batch_no = ? AND lease = ? AND holder IS NULL AND leased_until > ? RETURNING created_at',
      )
      .pluck(),
    begun: db.prepare<[number, number], BegunRow>(
      'SELECT created_at, leased_until FROM _batches WHERE batch_no = ? AND lease = ?',
    ),
    giveBack: db.prepare('UPDATE _batches SET holder = NULL WHERE batch_no = ? AND lease = ?'),
    load: db.prepare<[number], DeliveryRow>(
      `SELECT d.delivery_no, d.event <> 'erased' AND l.erased_no IS NOT NULL AS gone,
       CASE WHEN l.version_no > v.version_no AND d.unsure_at IS NULL AND d.event <> 'erased' AND ${HAS_CONTENT} THEN l.version_no END AS newest,
       ${deliveryId} AS delivery, v.source, CAST(v.id AS TEXT) AS id, v.version, d.event, d.replay, v.first_seen_at, ${changedAt} AS valid_from, v.poll_id, v.hash, v.raw
       FROM _deliveries d JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no
       LEFT JOIN _leads l ON l.source = v.source AND l.id = v.id
       WHERE d.batch_no = +? ORDER BY d.delivery_no`,
    ),
    skip: db.prepare<[string, number, number]>(SKIP),
    join: db.prepare<[number, number]>('UPDATE _deliveries SET batch_no = ? WHERE delivery_no = ?'),
    markUnsure: db.prepare<[number, number]>(MARK_UNSURE),
    keep: db.prepare(
      'UPDATE _batches SET lease = 0, holder = NULL, lost = 0, leased_until = ? WHERE batch_no = ?',
    ),
    putBack: db.prepare(
      'UPDATE _batches SET lease = 0, leased_until = ? WHERE batch_no = ? AND lease = ? AND holder IS NULL',
    ),
    end: db.prepare('DELETE FROM _batches WHERE batch_no = ?'),
    pending: db.prepare<[number, number], PendingRow>(
      `SELECT delivery_no, attempts, refused_at, retried_at, event, coalesce(last_attempt_at, owed_at) AS waiting_since
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
