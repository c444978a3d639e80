import type Database from 'better-sqlite3';
import type { Batch, BatchRef, Delivery } from '../../leads/delivery.ts';
import type { AttemptedDelivery, Judge, Verdict } from '../../leads/judge.ts';
import { mayHaveArrived, type Outcome } from '../../leads/outcome.ts';
import { reach } from '../../platform/process/failpoint.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Attempt, BegunAttempt, Settlement } from '../contract/ledger-delivering.ts';
import type { SinkRow, SinkRows } from '../database/sink-rows.ts';
import { ERASED } from '../privacy/erasing.ts';
import { batchNumber } from './claiming.ts';
import type { NewestContent } from './newest-content.ts';
import { Results } from './results.ts';
import { type BegunRow, type DeliveryRow, prepareSettling } from './settling-sql.ts';

/** A batch whose attempt has begun and was not asked for yet. */
export interface BegunBatch {
  readonly batch: Batch;
  readonly lease: number;
  readonly until: number;
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
    this.#sql = prepareSettling(db);
  }

  begin(ref: BatchRef, leaseMs: number, holder: string): BegunAttempt | undefined {
    const batchNo = batchNumber(ref.batch);
    // The fence: one attempt for a lease, and none for a lease that is over.
    const now = this.#clock.now().getTime();
    if (this.#putBack(ref, batchNo, now)) return undefined;
    const createdAt = this.#sql.begin.get(holder, now + leaseMs, batchNo, ref.lease, now);
    const batch = createdAt === undefined ? undefined : this.#load(ref, batchNo, createdAt);
    return batch && { batch, leasedUntil: new Date(now + leaseMs) };
  }

  /** A batch whose attempt began when it was claimed. */
  begun(ref: BatchRef): BegunBatch | undefined {
    const batchNo = batchNumber(ref.batch);
    const { created_at, leased_until } = this.#sql.begun.get(batchNo, ref.lease) as BegunRow;
    const batch = this.#load(ref, batchNo, created_at);
    return batch && { batch, lease: ref.lease, until: leased_until };
  }

  /** The attempt was never made: it can still be, under the same lease. */
  undoBegin({ batch, lease }: Pick<BatchRef, 'batch' | 'lease'>): void {
    this.#sql.undoBegin.run(batchNumber(batch), lease);
  }

  /** Without leads that were erased since an attempt of them began: they have no content. Undefined when nothing is left. */
  #load(ref: BatchRef, batchNo: number, createdAt: number): Batch | undefined {
    const sink = this.#nameOf(batchNo) ?? ref.sink;
    const [gone, rows] = [[] as number[], [] as DeliveryRow[]];
    for (const row of this.#loadNewest(ref, batchNo))
      if (row.gone === 1) gone.push(row.delivery_no);
      else rows.push(row);
    const now = this.#clock.now().getTime();
    for (const delivery of gone) this.#sql.skip.run(ERASED, now, delivery);
    this.#rows.count(sink, 'pending', -gone.length);
    this.#rows.count(sink, 'skipped', gone.length);
    if (rows.length === 0) {
      this.#sql.end.run(batchNo);
      return undefined;
    }
    const deliveries = rows.map(toDelivery);
    return { id: ref.batch, sink, createdAt: new Date(createdAt), deliveries };
  }

  /** What the sink of a batch is called now: it may have been renamed since the batch was claimed. */
  #nameOf(batchNo: number): string | undefined {
    return this.#sql.sinkOf.get(batchNo);
  }

  /**
   * The deliveries of a batch, each in its lead's newest content unless the one that it was owed in may have arrived. The last moment
   * at which that can be seen to: a lead may have changed while the sink was away, or the batch in a queue.
   */
  #loadNewest(ref: BatchRef, batchNo: number): DeliveryRow[] {
    const rows = this.#sql.load.all(batchNo);
    const sink = this.#rows.get(this.#nameOf(batchNo) ?? ref.sink);
    const outdated = rows.filter(({ newest }) => newest !== null);
    if (!sink || outdated.length === 0) return rows;
    const now = this.#clock.now().getTime();
    for (const { newest, source, id } of outdated) {
      const version = { versionNo: newest as number, source, id: BigInt(id) };
      const owed = this.#newest.oweNewest(sink, version, now, batchNo);
      if (owed !== undefined) this.#sql.join.run(batchNo, owed);
    }
    return this.#sql.load.all(batchNo);
  }

  /**
   * Puts a batch back whose sink was paused or held while it waited in a queue, unless it can be the probe: then it waits with
   * the others, as the same batch.
   */
  #putBack(ref: BatchRef, batchNo: number, now: number): boolean {
    const sink = this.#rows.get(this.#nameOf(batchNo) ?? ref.sink);
    if (!sink) return false;
    const { pausedSince, heldSince, probeAt } = sink.health;
    const until = Math.max(probeAt?.getTime() ?? now, now);
    const isProbed = heldSince !== undefined && (this.#sql.attempting.get(sink.sinkNo, now) ?? 0) > 0;
    if (!pausedSince && until === now && !isProbed) return false;
    return this.#sql.putBack.run(until, batchNo, ref.lease).changes > 0;
  }

  settle(ref: BatchRef, attempt: Attempt): Settlement | undefined {
    const batchNo = batchNumber(ref.batch);
    const sink = this.#rows.get(this.#nameOf(batchNo) ?? ref.sink);
    // The fence: nothing is found under a lease that is not the current one. Whoever holds a newer one settles this batch.
    const pending = this.#sql.pending.all(batchNo, ref.lease);
    if (!sink || pending.length === 0) return undefined;
    if (pending.length !== attempt.outcomes.length) {
      throw new Error(
        `sink ${sink.name} gave ${attempt.outcomes.length} outcomes for ${pending.length} deliveries`,
      );
    }
    const now = this.#clock.now();
    // Not `attempt.startedAt`: the clock may have been set since.
    const startedAt = new Date(now.getTime() - attempt.durationMs);
    const attempted = pending.map((row, index) => ({
      startedAt,
      attempts: row.attempts,
      excused: row.excused,
      waitingSince: new Date(row.waiting_since),
      refusedAt: row.refused_at === null ? undefined : new Date(row.refused_at),
      retried: row.retried_at !== null,
      ofErased: row.event === 'erased',
      outcome: attempt.outcomes[index] as Outcome,
    }));
    const judgement = this.#judge(sink.name, sink.health, attempted, now);
    const kept = this.#keepOrEnd(batchNo, attempted, judgement.verdicts);
    const apart = pending.flatMap(({ delivery_no }, index) =>
      isApart(attempt.outcomes[index]) ? [delivery_no] : [],
    );
    const results = pending.map(({ delivery_no, attempts }, index) => ({
      deliveryNo: delivery_no,
      outcome: attempt.outcomes[index] as Outcome,
      verdict: judgement.verdicts[index] as Verdict,
      attemptsBefore: attempts,
    }));
    const keptUnsure = kept && attempt.outcomes.some(mayHaveArrived);
    const times = { attempt, now: now.getTime(), batchNo, kept, keptUnsure };
    this.#results.write(results, times);
    if (apart.length > 0) this.#setApart(sink, apart, now.getTime());
    this.#rows.setHealth(sink.name, judgement.health);
    this.#count(sink.name, judgement.verdicts);
    const failed = results.filter(({ verdict }) => verdict.state !== 'delivered');
    this.#newest.oweNewestOfFailed(
      sink,
      failed.map(({ deliveryNo }) => deliveryNo),
      now.getTime(),
    );
    const revived = judgement.reviveSince
      ? this.#revive(sink, judgement.reviveSince, judgement.health.probeAt ?? now)
      : 0;
    reach('settling');
    const { name, health: before } = sink;
    return { sink: name, verdicts: judgement.verdicts, before, after: judgement.health, revived };
  }

  /** Puts some of what was untried into a batch of its own, which is due now: what is known of it would be forgotten else. */
  #setApart({ sinkNo }: SinkRow, deliveries: readonly number[], now: number): void {
    const { lastInsertRowid } = this.#sql.addBatch.run(sinkNo, now, now);
    this.#sql.assign.run(lastInsertRowid, JSON.stringify(deliveries));
  }

  /**
   * A batch of which nothing is settled is attempted again as the same batch, under a new lease, when its time has come.
   * One that was tried in part is not: the leads that were refused would stand before the others again.
   */
  #keepOrEnd(
    batchNo: number,
    attempted: readonly AttemptedDelivery[],
    verdicts: readonly Verdict[],
  ): boolean {
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

  release(ref: BatchRef, holder: string, isUnsure: boolean): boolean {
    const now = this.#clock.now().getTime();
    const batchNo = batchNumber(ref.batch);
    const isReleased = this.#sql.release.run(now, batchNo, ref.lease, holder).changes > 0;
    if (isReleased && isUnsure) this.#sql.markUnsure.run(now, batchNo);
    return isReleased;
  }

  reclaimLeases(holder: string): number {
    return this.#sql.endLeases.run(holder).changes;
  }
}

function isApart(outcome: Outcome | undefined): boolean {
  return outcome?.kind === 'untried' && outcome.apart === true;
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
