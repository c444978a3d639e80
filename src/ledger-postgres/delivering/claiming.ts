import type { BatchRef } from '../../leads/delivery.ts';
import type { ClaimRequest, ClaimResult } from '../../ledger/contract/claim.ts';
import {
  afterLosses,
  batchId,
  capacityOf,
  earliest,
  MAX_BLOCKED,
  newerThan,
  newLease,
  turnsOfNewest,
} from '../../ledger/rules/batching.ts';
import { toBatches, withoutPartialBatch } from '../../ledger/rules/divide-into-batches.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import { findSink, lockSink, type Sink } from '../database/sinks.ts';
import type { Transaction } from '../database/transaction.ts';
import { ClaimFloors, type Place, START } from './claim-floors.ts';
import { type BatchRow, claimingSql, type DueRow, type ProbeSql } from './claiming-sql.ts';

const {
  ADD_BATCHES,
  ANY_DUE,
  ASSIGN,
  DELAY,
  DUE,
  EXTEND,
  IN_BATCH,
  LEASED,
  MARK_MAYBE_ARRIVED,
  NEWEST,
  NEXT_DUE,
  NEXT_LEASE_END,
  OLDEST,
  PROBES,
  RENEW,
  UNBEGUN,
} = claimingSql;

/** When the lease of a batch expires, in ms since 1970, and the process that has begun the batch's attempt; null if none has. */
interface Lease {
  readonly until: number;
  readonly holder: string | null;
}

/** Leases due deliveries as batches. Another claim of the same sink takes other deliveries, as each skips what the other has locked. */
export class Claiming {
  readonly #random: Random;
  /** The number of batches claimed from a backlog since the last turn of the newest leads, by sink. */
  readonly #turns = new Map<number, number>();
  readonly #floors: ClaimFloors;

  constructor(clock: Clock, random: Random) {
    this.#floors = new ClaimFloors(clock);
    this.#random = random;
  }

  /** Claims batches of a sink. `holder` is the process that begins their attempts in the same commit; null if the attempts begin later. */
  async claim(tx: Transaction, request: ClaimRequest, holder: string | null): Promise<ClaimResult> {
    const found = await findSink(tx, request.sink);
    if (!found?.active) return { refs: [], nextInMs: undefined };
    await extendLeases(tx, found, request);
    if (found.health.pausedSince) return { refs: [], nextInMs: undefined, health: found.health };
    // Of a held sink there is one probe at a time, whichever process claims it.
    const sink = found.health.heldSince ? await lockSink(tx, found.sinkNo) : found;
    const lease = { holder, until: tx.now + (request.beginForMs ?? request.leaseMs) };
    const room = await roomFor(tx, sink, request);
    const claimBatches = () =>
      sink.health.heldSince ? this.#probe(tx, sink, lease) : this.#due(tx, sink, { request, room, lease });
    const refs = room > 0 ? await claimBatches() : [];
    const nextAt = await nextClaimAt(tx, sink, request, this.#floors.of(sink.sinkNo));
    return { refs, nextInMs: nextAt && Math.max(0, nextAt - tx.now), health: sink.health };
  }

  /**
   * Claims the probe of a held sink: one batch whose lease has expired, or the lead that is due first. Prefers deliveries whose outcome
   * would be conclusive, because a sink that works may still refuse a lead that was refused before.
   */
  async #probe(tx: Transaction, sink: Sink, lease: Lease): Promise<BatchRef[]> {
    if (tx.now < (sink.health.probeAt?.getTime() ?? tx.now)) return [];
    const refs = await this.#probeBy(tx, sink, lease, PROBES.conclusive);
    return refs.length > 0 ? refs : this.#probeBy(tx, sink, lease, PROBES.any);
  }

  async #probeBy(tx: Transaction, sink: Sink, lease: Lease, { due, expired }: ProbeSql): Promise<BatchRef[]> {
    const [lead] = await tx.rows(due, [sink.sinkNo, tx.now, 1, ...START]);
    const batches = await tx.rows(expired, [sink.sinkNo, tx.now, 1]);
    const [first] = batches;
    // Takes the lead or batch that has waited longest, so that a lead that always fails cannot prevent others from being the probe.
    if (lead && (!first || lead.next_attempt_at < first.leased_until))
      return this.#makeBatches(tx, sink, [[lead]], lease);
    return this.#renew(tx, sink, batches, lease);
  }

  async #due(
    tx: Transaction,
    sink: Sink,
    {
      request,
      room,
      lease,
    }: { readonly request: ClaimRequest; readonly room: number; readonly lease: Lease },
  ): Promise<BatchRef[]> {
    // Expired batches come first: a former probe became due later than the deliveries that were not tried in the meantime.
    const expired = await tx.rows(OLDEST, [sink.sinkNo, tx.now, room]);
    const most = room * request.max;
    // One delivery more than the window can take shows that there is a backlog, so the limit is one higher.
    const due = await this.#findDue(tx, sink, most - expired.length * request.max + 1);
    const hasBacklog = due.length + expired.length * request.max > most;
    const since = due[0]?.next_attempt_at;
    const newest =
      hasBacklog && since !== undefined ? await this.#newest(tx, sink, { room, since, request }) : [];
    const taken = new Set(newest.flat().map((row) => row.delivery_no));
    const renewed = await this.#renew(tx, sink, expired.slice(0, room - newest.length), lease);
    const left = due.slice(0, most).filter((row) => !taken.has(row.delivery_no));
    const oldest = toBatches(withoutPartialBatch(left, request, tx.now), request.max);
    const made = [...newest, ...oldest].slice(0, room - renewed.length);
    if (hasBacklog) this.#floors.raise(sink.sinkNo, due, new Set(made.flat().map((row) => row.delivery_no)));
    return [...renewed, ...(await this.#makeBatches(tx, sink, made, lease))];
  }

  /** Finds due deliveries from the floor of the sink or, if those are too few, from the start. */
  async #findDue(tx: Transaction, { sinkNo }: Sink, most: number): Promise<DueRow[]> {
    const floor = this.#floors.of(sinkNo);
    const found = await tx.rows(DUE, [sinkNo, tx.now, most, ...floor]);
    if (found.length === most || floor === START) return found;
    this.#floors.remove(sinkNo);
    return tx.rows(DUE, [sinkNo, tx.now, most, ...START]);
  }

  /**
   * Returns batches of the newest due leads, so that a backlog, whose oldest delivery became due at `since`, does not delay them. Leads that do
   * not fill a batch wait as usual.
   */
  async #newest(
    tx: Transaction,
    { sinkNo }: Sink,
    {
      room,
      since,
      request,
    }: { readonly room: number; readonly since: number; readonly request: ClaimRequest },
  ): Promise<DueRow[][]> {
    const { window, max } = request;
    const { turns, next } = turnsOfNewest(this.#turns.get(sinkNo) ?? 0, room, window);
    this.#turns.set(sinkNo, next);
    if (turns === 0) return [];
    const most = turns * max;
    const rows = await tx.rows(NEWEST, [sinkNo, tx.now, most + MAX_BLOCKED, most]);
    return toBatches(withoutPartialBatch(newerThan(rows, since), request, tx.now), max).slice(0, turns);
  }

  async #makeBatches(
    tx: Transaction,
    sink: Sink,
    batches: readonly (readonly DueRow[])[],
    { until, holder }: Lease,
  ): Promise<BatchRef[]> {
    if (batches.length === 0) return [];
    const leases = batches.map(() => newLease(this.#random));
    const createdAt = batches.map(() => tx.now);
    const added = await tx.rows(ADD_BATCHES, [sink.sinkNo, createdAt, leases, until, holder, 0]);
    const numbers = new Map(added.map(({ lease, batch_no }) => [lease, batch_no]));
    const made = batches.map((batch, index) => {
      const lease = leases[index] ?? 0;
      return { batch, lease, batchNo: numbers.get(lease) ?? 0 };
    });
    await tx.run(ASSIGN, [
      made.flatMap(({ batch }) => batch.map(({ delivery_no }) => delivery_no)),
      made.flatMap(({ batch, batchNo }) => batch.map(() => batchNo)),
    ]);
    return made.map(({ lease, batchNo }) => ({ sink: sink.name, batch: batchId(batchNo), lease }));
  }

  /** Gives expired batches new leases. They stay the same batches. */
  async #renew(
    tx: Transaction,
    sink: Sink,
    expired: readonly BatchRow[],
    { until, holder }: Lease,
  ): Promise<BatchRef[]> {
    if (expired.length === 0) return [];
    const lostNow = expired.filter((row) => row.holder !== null);
    if (lostNow.length > 0)
      await tx.run(MARK_MAYBE_ARRIVED, [tx.now, lostNow.map(({ batch_no }) => batch_no)]);
    const renewed = [];
    for (const row of expired) {
      const lost = row.holder === null ? row.lost : row.lost + 1;
      const delayMs = row.holder === null ? 0 : await this.#splitOrDelay(tx, sink, row, lost);
      // A delayed batch has no lease, so it does not count as in flight and is not offered until it is due.
      renewed.push({
        row,
        lost,
        lease: delayMs > 0 ? 0 : newLease(this.#random),
        until: delayMs > 0 ? tx.now + delayMs : until,
      });
    }
    await tx.run(RENEW, [
      holder,
      renewed.map(({ row }) => row.batch_no),
      renewed.map(({ lease }) => lease),
      renewed.map((one) => one.until),
      renewed.map(({ lost }) => lost),
    ]);
    return renewed
      .filter(({ lease }) => lease !== 0)
      .map(({ row, lease }) => ({
        sink: sink.name,
        batch: batchId(row.batch_no),
        lease,
        replaces: row.lease || undefined,
      }));
  }

  /** Splits a repeatedly lost batch in two or, if it has only one lead, delays it and records why. Returns the delay in ms. */
  async #splitOrDelay(tx: Transaction, sink: Sink, row: BatchRow, lost: number): Promise<number> {
    const deliveries = await tx.rows(IN_BATCH, [row.batch_no]);
    const after = afterLosses(lost, deliveries.length);
    if (after === undefined) return 0;
    if (after.kind === 'split') {
      const lease = newLease(this.#random);
      const [added] = await tx.rows(ADD_BATCHES, [
        sink.sinkNo,
        [row.created_at],
        [lease],
        tx.now,
        null,
        lost,
      ]);
      const half = deliveries.slice(Math.ceil(deliveries.length / 2)).map(({ delivery_no }) => delivery_no);
      await tx.run(ASSIGN, [half, half.map(() => added?.batch_no ?? 0)]);
      return 0;
    }
    await tx.run(DELAY, [after.reason, tx.now + after.delayMs, row.batch_no]);
    return after.delayMs;
  }

  async unbegunBatches(tx: Transaction, name: string): Promise<BatchRef[]> {
    const sink = await findSink(tx, name);
    if (!sink) return [];
    const rows = await tx.rows(UNBEGUN, [sink.sinkNo, tx.now]);
    return rows.map((row) => ({ sink: name, batch: batchId(row.batch_no), lease: row.lease }));
  }

  async activity(tx: Transaction, name: string): Promise<{ inFlight: number; due: boolean }> {
    const sink = await findSink(tx, name);
    if (!sink) return { inFlight: 0, due: false };
    const inFlight = await leasedOf(tx, sink);
    const { pausedSince, heldSince } = sink.health;
    if (!sink.active || pausedSince || heldSince) return { inFlight, due: false };
    const isDueAfter = async (place: Place) =>
      (await tx.first(ANY_DUE, [sink.sinkNo, tx.now, ...place]))?.due === true;
    const floor = this.#floors.of(sink.sinkNo);
    return { inFlight, due: (await isDueAfter(floor)) || (floor !== START && (await isDueAfter(START))) };
  }
}

async function extendLeases(
  tx: Transaction,
  { sinkNo }: Sink,
  { activeLeases }: ClaimRequest,
): Promise<void> {
  if (!activeLeases || activeLeases.leases.length === 0) return;
  await tx.run(EXTEND, [sinkNo, tx.now, tx.now + activeLeases.leaseMs, activeLeases.leases]);
}

async function leasedOf(tx: Transaction, { sinkNo }: Sink): Promise<number> {
  return (await tx.first(LEASED, [sinkNo, tx.now]))?.leased ?? 0;
}

/** Returns how many batches a claim may return; zero or negative if none. */
async function roomFor(tx: Transaction, sink: Sink, request: ClaimRequest): Promise<number> {
  return Math.min(
    capacityOf(sink, request) - (await leasedOf(tx, sink)),
    request.most ?? Number.POSITIVE_INFINITY,
  );
}

/**
 * Returns when the next claim may return a batch, in ms since 1970. If the window is full, that is when the first lease expires. An attempt
 * that ends earlier triggers a claim itself.
 */
async function nextClaimAt(
  tx: Transaction,
  sink: Sink,
  request: ClaimRequest,
  floor: Place,
): Promise<number | undefined> {
  const { heldSince, probeAt } = sink.health;
  if (heldSince && probeAt && probeAt.getTime() > tx.now) return probeAt.getTime();
  const leaseEnd = (await tx.first(NEXT_LEASE_END, [sink.sinkNo, tx.now]))?.at;
  if ((await roomFor(tx, sink, request)) <= 0) return leaseEnd ?? undefined;
  const due = await tx.first(NEXT_DUE, [sink.sinkNo, heldSince ? 0 : request.waitMs, ...floor]);
  return earliest(leaseEnd, due?.at);
}
