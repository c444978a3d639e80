import type Database from 'better-sqlite3';
import type { BatchRef } from '../../leads/delivery.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import type { ActiveLeases, ClaimRequest, ClaimResult } from '../contract/claim.ts';
import type { SinkRows } from '../database/sink-rows.ts';
import {
  afterLosses,
  batchId,
  CLOCK_STEP_MS,
  capacityOf,
  earliest,
  MAX_BLOCKED,
  newerThan,
  newLease,
  turnsOfNewest,
} from '../rules/delivering/batching.ts';
import { toBatches, withoutPartialBatch } from '../rules/delivering/divide-into-batches.ts';
import type { SinkRow } from '../rules/delivering/sink-row.ts';
import { type BatchRow, type DueRow, type ProbeSql, prepareClaiming } from './claiming-sql.ts';

/** When the lease of a batch expires, in ms since 1970, and the process that has begun the batch's attempt; null if none has. */
interface Lease {
  until: number;
  holder: string | null;
}

/** Leases due deliveries as batches. Runs inside its caller's transaction. */
export class Claiming {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #rows: SinkRows;
  readonly #sql;
  /** The number of batches claimed from a backlog since the last turn of the newest leads, by sink. */
  readonly #turns = new Map<number, number>();
  /** The wall clock minus the monotonic clock at the last claim, in ms. */
  #aheadMs: number;

  constructor(db: Database.Database, clock: Clock, random: Random, rows: SinkRows) {
    this.#clock = clock;
    this.#random = random;
    this.#rows = rows;
    this.#sql = prepareClaiming(db);
    this.#aheadMs = clock.now().getTime() - clock.monotonicMs();
  }

  /** Claims batches of a sink. `holder` is the process that begins their attempts in the same commit; null if the attempts begin later. */
  claim(request: ClaimRequest, holder: string | null): ClaimResult {
    const sink = this.#rows.get(request.sink);
    if (!sink?.active) return { refs: [], nextInMs: undefined };
    const now = this.#clock.now().getTime();
    this.#followClock(now);
    this.#extendLeases(sink, request.activeLeases, now);
    const { health } = sink;
    if (health.pausedSince) return { refs: [], nextInMs: undefined, health };
    const lease = { holder, until: now + (request.beginForMs ?? request.leaseMs) };
    const room = this.#roomFor(sink, request, now);
    const claimBatches = () =>
      health.heldSince ? this.#probe(sink, lease, now) : this.#due(sink, request, room, lease, now);
    const refs = room > 0 ? claimBatches() : [];
    const nextAt = this.#nextAt(sink, request, now);
    return { refs, nextInMs: nextAt && Math.max(0, nextAt - now), health };
  }

  /**
   * If the clock was set forward, extends the leases of all running attempts by the same amount, so that the change does not end any of them.
   * `ClockSetting` handles a clock that was set back.
   */
  #followClock(now: number): void {
    const aheadMs = now - this.#clock.monotonicMs();
    const stepMs = Math.round(aheadMs - this.#aheadMs);
    this.#aheadMs = aheadMs;
    if (stepMs >= CLOCK_STEP_MS) this.#sql.moveLeases.run(stepMs, now - stepMs);
  }

  #extendLeases({ sinkNo }: SinkRow, activeLeases: ActiveLeases | undefined, now: number): void {
    if (!activeLeases || activeLeases.leases.length === 0) return;
    const { leases, leaseMs } = activeLeases;
    this.#sql.extend.run(now + leaseMs, sinkNo, now, JSON.stringify(leases));
  }

  /**
   * Claims the probe of a held sink: one batch whose lease has expired, or the lead that is due first. Prefers deliveries whose outcome
   * would be conclusive, because a sink that works may still refuse a lead that was refused before.
   */
  #probe(sink: SinkRow, lease: Lease, now: number): BatchRef[] {
    const early = now < (sink.health.probeAt?.getTime() ?? now);
    if (early) return [];
    const { conclusive, any } = this.#sql.probes;
    const refs = this.#probeBy(conclusive, sink, lease, now);
    return refs.length > 0 ? refs : this.#probeBy(any, sink, lease, now);
  }

  #probeBy({ due, expired }: ProbeSql, sink: SinkRow, lease: Lease, now: number): BatchRef[] {
    const [lead] = due.all(sink.sinkNo, now, 1);
    const batches = expired.all(sink.sinkNo, now, 1);
    const [first] = batches;
    // Takes the lead or batch that has waited longest, so that a lead that always fails cannot prevent others from being the probe.
    if (lead && (!first || lead.next_attempt_at < first.leased_until))
      return this.#makeBatches(sink, [[lead]], lease, now);
    return this.#renew(sink, batches, lease, now);
  }

  #due(sink: SinkRow, request: ClaimRequest, room: number, lease: Lease, now: number): BatchRef[] {
    // Expired batches come first: a former probe became due later than the deliveries that were not tried in the meantime.
    const expired = this.#sql.oldest.all(sink.sinkNo, now, room);
    const most = room * request.max;
    // One delivery more than the window can take shows that there is a backlog, so the limit is one higher.
    const due = this.#sql.due.all(sink.sinkNo, now, most - expired.length * request.max + 1);
    const hasBacklog = due.length + expired.length * request.max > most;
    const since = due[0]?.next_attempt_at;
    const newest = hasBacklog && since !== undefined ? this.#newest(sink, room, since, request, now) : [];
    const taken = new Set(newest.flat().map((row) => row.delivery_no));
    const renewed = this.#renew(sink, expired.slice(0, room - newest.length), lease, now);
    const left = due.slice(0, most).filter((row) => !taken.has(row.delivery_no));
    const oldest = toBatches(withoutPartialBatch(left, request, now), request.max);
    const made = [...newest, ...oldest].slice(0, room - renewed.length);
    return [...renewed, ...this.#makeBatches(sink, made, lease, now)];
  }

  /**
   * Returns batches of the newest due leads, so that a backlog, whose oldest delivery became due at `since`, does not delay them. Returns
   * at most as many batches as the newest leads have turns in the next `places` batches. Leaves out deliveries that became due less than
   * `NEWER_BY_MS` after `since`, so that deliveries that became due together are attempted in order of age. Leads that do not fill a batch
   * wait as usual, so that a sink that writes files does not write many small files.
   */
  #newest(
    { sinkNo }: SinkRow,
    places: number,
    since: number,
    request: ClaimRequest,
    now: number,
  ): DueRow[][] {
    const { window, max } = request;
    const { turns, next } = turnsOfNewest(this.#turns.get(sinkNo) ?? 0, places, window);
    this.#turns.set(sinkNo, next);
    if (turns === 0) return [];
    const most = turns * max;
    const rows = this.#sql.newest.all(sinkNo, now, most + MAX_BLOCKED, most);
    return toBatches(withoutPartialBatch(newerThan(rows, since), request, now), max).slice(0, turns);
  }

  #makeBatches(
    sink: SinkRow,
    batches: readonly (readonly DueRow[])[],
    { until, holder }: Lease,
    now: number,
  ): BatchRef[] {
    return batches.map((batch) => {
      const lease = this.#newLease();
      const batchNo = Number(
        this.#sql.addBatch.run(now, lease, until, holder, 0, sink.sinkNo).lastInsertRowid,
      );
      this.#assign(
        batchNo,
        batch.map((row) => row.delivery_no),
      );
      return { sink: sink.name, batch: batchId(batchNo), lease };
    });
  }

  #assign(batchNo: number, deliveries: readonly number[]): void {
    if (deliveries.length === 1) this.#sql.assign.run(batchNo, deliveries[0]);
    else this.#sql.assignAll.run(batchNo, JSON.stringify(deliveries));
  }

  /** Gives expired batches new leases. They stay the same batches. */
  #renew(sink: SinkRow, expired: readonly BatchRow[], { until, holder }: Lease, now: number): BatchRef[] {
    const refs: BatchRef[] = [];
    for (const row of expired) {
      const lost = row.holder === null ? row.lost : row.lost + 1;
      if (row.holder !== null) this.#sql.markUnsure.run(now, row.batch_no);
      const delayMs = row.holder !== null ? this.#splitOrDelay(sink, row, lost, now) : 0;
      // A delayed batch has no lease, so it does not count as in flight and is not offered until it is due.
      const lease = delayMs > 0 ? 0 : this.#newLease();
      if (lease === 0) this.#sql.renew.run(0, now + delayMs, null, lost, row.batch_no);
      else this.#sql.renew.run(lease, until, holder, lost, row.batch_no);
      if (lease === 0) continue;
      refs.push({ sink: sink.name, batch: batchId(row.batch_no), lease, replaces: row.lease || undefined });
    }
    return refs;
  }

  /** Splits a repeatedly lost batch in two or, if it has only one lead, delays it and records why. Returns the delay in ms. */
  #splitOrDelay(sink: SinkRow, row: BatchRow, lost: number, now: number): number {
    const deliveries = this.#sql.inBatch.all(row.batch_no);
    const after = afterLosses(lost, deliveries.length);
    if (after === undefined) return 0;
    if (after.kind === 'split') {
      const added = this.#sql.addBatch.run(row.created_at, this.#newLease(), now, null, lost, sink.sinkNo);
      const half = deliveries.slice(Math.ceil(deliveries.length / 2));
      this.#assign(Number(added.lastInsertRowid), half);
      return 0;
    }
    this.#sql.delay.run(after.reason, now + after.delayMs, row.batch_no);
    return after.delayMs;
  }

  unbegunBatches(name: string): BatchRef[] {
    const sink = this.#rows.get(name);
    if (!sink) return [];
    const rows = this.#sql.waiting.all(sink.sinkNo, this.#clock.now().getTime());
    return rows.map((row) => ({ sink: name, batch: batchId(row.batch_no), lease: row.lease }));
  }

  workOf(name: string): { inFlight: number; due: boolean } {
    const sink = this.#rows.get(name);
    if (!sink) return { inFlight: 0, due: false };
    const now = this.#clock.now().getTime();
    const inFlight = this.#inFlight(sink, now);
    const { pausedSince, heldSince } = sink.health;
    if (!sink.active || pausedSince || heldSince) return { inFlight, due: false };
    const due =
      this.#sql.due.all(sink.sinkNo, now, 1).length + this.#sql.oldest.all(sink.sinkNo, now, 1).length;
    return { inFlight, due: due > 0 };
  }

  /** Returns how many batches this claim may return; zero or negative if none. */
  #roomFor(sink: SinkRow, request: ClaimRequest, now: number): number {
    return Math.min(
      capacityOf(sink, request) - this.#inFlight(sink, now),
      request.most ?? Number.POSITIVE_INFINITY,
    );
  }

  #inFlight(sink: SinkRow, now: number): number {
    return this.#sql.leased.get(sink.sinkNo, now) ?? 0;
  }

  /**
   * Returns when the next claim may return a batch, in ms since 1970. If the window is full, that is when the first lease expires. An
   * attempt that ends earlier triggers a claim itself.
   */
  #nextAt(sink: SinkRow, request: ClaimRequest, now: number): number | undefined {
    const { heldSince, probeAt } = sink.health;
    if (heldSince && probeAt && probeAt.getTime() > now) return probeAt.getTime();
    const leaseEnd = this.#sql.nextLeaseEnd.get(sink.sinkNo, now) ?? undefined;
    if (this.#roomFor(sink, request, now) <= 0) return leaseEnd;
    return earliest(leaseEnd, this.#sql.nextDue.get(heldSince ? 0 : request.waitMs, sink.sinkNo));
  }

  #newLease(): number {
    return newLease(this.#random);
  }
}
