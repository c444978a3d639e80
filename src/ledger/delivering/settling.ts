import type Database from 'better-sqlite3';
import type { Batch, BatchRef } from '../../leads/delivery.ts';
import type { AttemptedDelivery, Judge, Verdict } from '../../leads/judgement.ts';
import { mayHaveArrived, type Outcome } from '../../leads/outcome.ts';
import { reach } from '../../platform/process/failpoint.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Attempt, Settlement } from '../contract/ledger-delivering.ts';
import type { SinkActivity } from '../database/sink-activity.ts';
import type { SinkRows } from '../database/sink-rows.ts';
import { attemptedDeliveries } from '../rules/delivering/attempted-deliveries.ts';
import { batchNumber } from '../rules/delivering/batching.ts';
import { ERASED } from '../rules/delivering/delivery-id.ts';
import { type DeliveryRow, LOST_MAPPING, toDelivery } from '../rules/delivering/loaded-delivery.ts';
import { isApart, keepsBatch } from '../rules/delivering/results.ts';
import type { SinkRow } from '../rules/delivering/sink-row.ts';
import { Results } from './results.ts';
import { type BegunRow, prepareSettling } from './settling-sql.ts';
import type { NewestContent } from './superseding.ts';

/** A batch whose attempt began when the batch was claimed. */
export interface BegunBatch {
  readonly batch: Batch;
  readonly lease: number;
  /** When the lease expires by this machine's clock, in ms since 1970. */
  readonly leasedUntil: number;
}

/** The dependencies of `Settling`. */
interface SettlingParts {
  readonly clock: Clock;
  readonly rows: SinkRows;
  readonly activity: SinkActivity;
  readonly judge: Judge;
  readonly newest: NewestContent;
}

/** Begins, settles and releases the attempts of batches. Runs inside its caller's transaction. */
export class Settling {
  readonly #clock: Clock;
  readonly #judge: Judge;
  readonly #rows: SinkRows;
  readonly #activity: SinkActivity;
  readonly #results: Results;
  readonly #newest: NewestContent;
  readonly #sql;

  constructor(db: Database.Database, { clock, rows, activity, judge, newest }: SettlingParts) {
    this.#clock = clock;
    this.#newest = newest;
    this.#judge = judge;
    this.#rows = rows;
    this.#activity = activity;
    this.#results = new Results(db);
    this.#sql = prepareSettling(db);
  }

  begin(ref: BatchRef, leaseMs: number, holder: string): BegunBatch | undefined {
    const batchNo = batchNumber(ref.batch);
    // The fence: each lease allows one attempt, and no attempt after the lease has expired.
    const now = this.#clock.now().getTime();
    if (this.#putBack(ref, batchNo, now)) return undefined;
    const createdAt = this.#sql.begin.get(holder, now + leaseMs, batchNo, ref.lease, now);
    const batch = createdAt === undefined ? undefined : this.#load(ref, batchNo, createdAt);
    return batch && { batch, lease: ref.lease, leasedUntil: now + leaseMs };
  }

  /** Returns a batch whose attempt began when the batch was claimed; undefined if all of its leads have been erased. */
  begun(ref: BatchRef): BegunBatch | undefined {
    const batchNo = batchNumber(ref.batch);
    const { created_at, leased_until } = this.#sql.begun.get(batchNo, ref.lease) as BegunRow;
    const batch = this.#load(ref, batchNo, created_at);
    return batch && { batch, lease: ref.lease, leasedUntil: leased_until };
  }

  /** Records that a begun attempt was never made, so that the attempt can begin again under the same lease. */
  undoBegin({ batch, lease }: Pick<BatchRef, 'batch' | 'lease'>): void {
    this.#sql.undoBegin.run(batchNumber(batch), lease);
  }

  /** Reads a batch, and skips deliveries of leads that have been erased in the meantime. Returns undefined if no delivery is left. */
  #load(ref: BatchRef, batchNo: number, createdAt: number): Batch | undefined {
    const sink = this.#nameOf(batchNo) ?? ref.sink;
    const [gone, rows] = [[] as number[], [] as DeliveryRow[]];
    for (const row of this.#withNewIds(this.#loadNewest(ref, batchNo), batchNo))
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
    const mapping = this.#mappingOf(rows[0]?.batch_mapping_no ?? null) ?? undefined;
    const deliveries = rows.map((row) => {
      const delivery = toDelivery(row);
      return row.mapping_no === row.batch_mapping_no
        ? delivery
        : { ...delivery, formerMapping: this.#mappingOf(row.mapping_no) };
    });
    return { id: ref.batch, sink, createdAt: new Date(createdAt), mapping, deliveries };
  }

  /** Returns the text of a mapping; null if the number is null. If damage removed the text, returns text that is not a valid mapping. */
  #mappingOf(mappingNo: number | null): string | null {
    return mappingNo === null ? null : (this.#sql.mapping.get(mappingNo) ?? LOST_MAPPING);
  }

  /** Returns the present name of the sink of a batch. The sink may have been renamed since the claim. */
  #nameOf(batchNo: number): string | undefined {
    return this.#sql.sinkOf.get(batchNo);
  }

  /**
   * Reads the deliveries of a batch. Each delivery gets the newest version of its lead, unless it may have arrived with an older version. A
   * lead may have changed while its sink was unavailable or the batch was in a queue, and this is the last chance to send the newer version.
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

  /** Gives a new id to each delivery that was sent with another mapping, so that no two messages have the same id. Returns the batch's deliveries. */
  #withNewIds(rows: DeliveryRow[], batchNo: number): DeliveryRow[] {
    if (rows.every((row) => row.needs_new_id === 0)) return rows;
    this.#sql.reissue.run(batchNo);
    return this.#sql.load.all(batchNo);
  }

  /**
   * Gives up the lease of a batch, which stays the same batch, if its sink was paused or held while the batch was in a queue and the batch
   * cannot be the probe. Returns false if the attempt may begin.
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
    // The fence: an outdated lease finds no rows. The process with the newer lease settles this batch.
    const pending = this.#sql.pending.all(batchNo, ref.lease);
    if (!sink || pending.length === 0) return undefined;
    const now = this.#clock.now();
    const attempted = attemptedDeliveries(pending, attempt, now.getTime());
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
    const mappingNo = pending[0]?.mapping_no ?? null;
    const times = { attempt, now: now.getTime(), batchNo, mappingNo, kept, keptUnsure };
    const rows = this.#results.write(results, times);
    if (apart.length > 0) this.#setApart(sink, apart, now.getTime());
    const after = attempt.quota ? { ...judgement.health, quota: attempt.quota } : judgement.health;
    this.#rows.setHealth(sink.name, after);
    const { outcomes, durationMs } = attempt;
    this.#activity.addBatch(sink.sinkNo, { outcomes, durationMs, rows }, now);
    this.#activity.changeHealth(sink.sinkNo, sink.health, after, now);
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
    return { sink: name, verdicts: judgement.verdicts, before, after, revived };
  }

  /** Puts the untried deliveries that are marked `apart` into a batch of their own, which is due now. */
  #setApart({ sinkNo }: SinkRow, deliveries: readonly number[], now: number): void {
    const { lastInsertRowid } = this.#sql.addBatch.run(sinkNo, now, now);
    this.#sql.assign.run(lastInsertRowid, JSON.stringify(deliveries));
  }

  /** Keeps or ends a batch after its attempt (see `keepsBatch`). Returns whether it is kept. */
  #keepOrEnd(
    batchNo: number,
    attempted: readonly AttemptedDelivery[],
    verdicts: readonly Verdict[],
  ): boolean {
    const { whole, dueAt } = keepsBatch(attempted, verdicts);
    if (whole) this.#sql.keep.run(dueAt, batchNo);
    else this.#sql.end.run(batchNo);
    return whole;
  }

  #count(sink: string, verdicts: readonly Verdict[]): void {
    for (const state of ['delivered', 'dead', 'skipped'] as const) {
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
