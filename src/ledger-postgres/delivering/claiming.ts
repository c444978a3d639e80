import type { BatchRef } from '../../leads/delivery.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';
import type { ClaimRequest, ClaimResult } from '../../ledger/contract/claim.ts';
import { afterLosses, batchId, newLease } from '../../ledger/rules/delivering/batching.ts';
import { toBatches, withoutPartialBatch } from '../../ledger/rules/delivering/divide-into-batches.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import { findSink, lockSink, type Sink } from '../database/sinks.ts';
import type { Transaction } from '../database/transaction.ts';
import { ClaimFloors, type Place, START } from './claim-floors.ts';
import { type BatchRow, claimingSql, type DueRow } from './claiming-sql.ts';
import { findDue, leasedOf, type Memory, newestOf, nextClaimAt, roomFor } from './finding-due.ts';
import type { Probe } from './probing.ts';

const {
  ADD_BATCHES,
  ANY_DUE,
  ASSIGN,
  DELAY,
  DUE_DELIVERY,
  EXPIRED_BATCH,
  EXTEND,
  IN_BATCH,
  MARK_MAYBE_ARRIVED,
  OLDEST,
  RENEW,
  UNBEGUN,
} = claimingSql;

/** When the lease of a batch expires, in ms since 1970, and the process that has begun the batch's attempt; null if none has. */
interface Lease {
  readonly until: number;
  readonly holder: string | null;
}

/** What a claim has leased, and a function that remembers what the next claim needs. It must be called once the claim is committed. */
interface Claim {
  readonly claimed: ClaimResult;
  readonly keep: () => void;
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

  /**
   * Claims batches of a sink. Returns undefined if the sink is held and a probe is due: the caller then finds one with `findProbe`, and calls this
   * again with it.
   * @param holder the process that begins the attempts of the batches in the same commit; null if the attempts begin later
   * @param probe what may be the probe; null if nothing may be
   */
  async claim(
    tx: Transaction,
    request: ClaimRequest,
    { holder, probe }: { readonly holder: string | null; readonly probe: Probe | null | undefined },
  ): Promise<Claim | undefined> {
    const found = await findSink(tx, request.sink);
    if (!found?.active) return nothing(undefined);
    await extendLeases(tx, found, request);
    if (found.health.pausedSince) return nothing(found.health);
    if (probe === undefined && isProbeDue(tx, found) && (await roomFor(tx, found, request, holder)) > 0)
      return undefined;
    // Of a held sink there is one probe at a time, whichever process claims it.
    const sink = found.health.heldSince ? await lockSink(tx, found.sinkNo) : found;
    const lease = { holder, until: tx.now + (request.beginForMs ?? request.leaseMs) };
    const room = await roomFor(tx, sink, request, holder);
    const memory = this.#memoryOf(sink);
    const claimBatches = () =>
      sink.health.heldSince
        ? this.#probe(tx, sink, lease, probe ?? null)
        : this.#due(tx, sink, { request, room, lease, memory });
    const refs = room > 0 ? await claimBatches() : [];
    const nextAt = await nextClaimAt(tx, sink, { request, holder }, memory.floor?.place ?? START);
    const nextInMs = nextAt && Math.max(0, nextAt - tx.now);
    return { claimed: { refs, nextInMs, health: sink.health }, keep: () => this.#keep(sink, memory) };
  }

  #memoryOf({ sinkNo }: Sink): Memory {
    return { floor: this.#floors.of(sinkNo), turns: this.#turns.get(sinkNo) ?? 0 };
  }

  #keep({ sinkNo }: Sink, { floor, turns }: Memory): void {
    this.#floors.keep(sinkNo, floor);
    this.#turns.set(sinkNo, turns);
  }

  /** Claims the probe of a held sink, unless it is not due any more. */
  async #probe(tx: Transaction, sink: Sink, lease: Lease, probe: Probe | null): Promise<BatchRef[]> {
    if (!probe || !isProbeDue(tx, sink)) return [];
    const asked = [sink.sinkNo, tx.now, probe.no];
    if (probe.kind === 'batch') return this.#renew(tx, sink, await tx.rows(EXPIRED_BATCH, asked), lease);
    const leads = await tx.rows(DUE_DELIVERY, asked);
    return this.#makeBatches(tx, sink, leads.length > 0 ? [leads] : [], lease);
  }

  async #due(
    tx: Transaction,
    sink: Sink,
    {
      request,
      room,
      lease,
      memory,
    }: {
      readonly request: ClaimRequest;
      readonly room: number;
      readonly lease: Lease;
      readonly memory: Memory;
    },
  ): Promise<BatchRef[]> {
    // Expired batches come first: a former probe became due later than the deliveries that were not tried in the meantime.
    const expired = await tx.rows(OLDEST, [sink.sinkNo, tx.now, room]);
    const most = room * request.max;
    // One delivery more than the window can take shows that there is a backlog, so the limit is one higher.
    const due = await findDue(tx, sink, memory, most - expired.length * request.max + 1);
    const hasBacklog = due.length + expired.length * request.max > most;
    const since = due[0]?.next_attempt_at;
    const newest =
      hasBacklog && since !== undefined ? await newestOf(tx, sink, { room, since, request, memory }) : [];
    const taken = new Set(newest.flat().map((row) => row.delivery_no));
    const renewed = await this.#renew(tx, sink, expired.slice(0, room - newest.length), lease);
    const left = due.slice(0, most).filter((row) => !taken.has(row.delivery_no));
    const oldest = toBatches(withoutPartialBatch(left, request, tx.now), request.max);
    const made = [...newest, ...oldest].slice(0, room - renewed.length);
    const takenNow = new Set(made.flat().map((row) => row.delivery_no));
    if (hasBacklog) memory.floor = this.#floors.raised(memory.floor, due, takenNow);
    return [...renewed, ...(await this.#makeBatches(tx, sink, made, lease))];
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

  async workOf(tx: Transaction, name: string): Promise<{ inFlight: number; due: boolean }> {
    const sink = await findSink(tx, name);
    if (!sink) return { inFlight: 0, due: false };
    const inFlight = await leasedOf(tx, sink);
    const { pausedSince, heldSince } = sink.health;
    if (!sink.active || pausedSince || heldSince) return { inFlight, due: false };
    const isDueAfter = async (place: Place) =>
      (await tx.first(ANY_DUE, [sink.sinkNo, tx.now, ...place]))?.due === true;
    const floor = this.#floors.of(sink.sinkNo);
    return {
      inFlight,
      due: (floor !== undefined && (await isDueAfter(floor.place))) || (await isDueAfter(START)),
    };
  }
}

function nothing(health: SinkHealth | undefined): Claim {
  return { claimed: { refs: [], nextInMs: undefined, health }, keep: () => undefined };
}

/** Whether a sink is held and may be probed now. */
function isProbeDue(tx: Transaction, { health }: Sink): boolean {
  return health.heldSince !== undefined && tx.now >= (health.probeAt?.getTime() ?? tx.now);
}

async function extendLeases(
  tx: Transaction,
  { sinkNo }: Sink,
  { activeLeases }: ClaimRequest,
): Promise<void> {
  if (!activeLeases || activeLeases.leases.length === 0) return;
  await tx.run(EXTEND, [sinkNo, tx.now, tx.now + activeLeases.leaseMs, activeLeases.leases]);
}
