import type { BatchRef } from '../../leads/delivery.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';
import type { ClaimRequest, ClaimResult } from '../../ledger/contract/claim.ts';
import { batchId, earliest, newLease } from '../../ledger/rules/delivering/batching.ts';
import { toBatches, withoutPartialBatch } from '../../ledger/rules/delivering/divide-into-batches.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import { findSink, lockSink, type Sink, toSink } from '../database/sinks.ts';
import type { Transaction } from '../database/transaction.ts';
import { ClaimFloors, type Place, START } from './claim-floors.ts';
import { claimingSql, type DueRow, type LookedAt } from './claiming-sql.ts';
import {
  askToClaim,
  type ClaimQuestions,
  findDue,
  type Leases,
  leasedOf,
  type Memory,
  newestOf,
  nextClaimAt,
  roomFor,
} from './finding-due.ts';
import type { Probe } from './probing.ts';
import { type Lease, renewBatches } from './renewing.ts';
import { type LoadedRow, settlingSql } from './settling-sql.ts';

const { LOAD_DELIVERIES } = settlingSql;

const { ANY_DUE, DUE_DELIVERY, EXPIRED_BATCH, EXTEND, LOOK, MAKE_BATCHES, OLDEST, UNBEGUN } = claimingSql;

/** What a claim has leased. */
interface Claim {
  readonly claimed: ClaimResult;
  /** The deliveries in its batches, if these were read with it. */
  readonly loaded?: readonly LoadedRow[] | undefined;
  /** Remembers what the next claim needs. It must be called once the claim is committed. */
  readonly keep: () => void;
}

/** The batches that a claim takes: those that have new leases, and the deliveries of those that it makes. */
interface Taken {
  readonly renewed: readonly BatchRef[];
  readonly made: readonly (readonly DueRow[])[];
}

/** How a claim is made. */
interface Manner {
  /** The process that begins the attempts of the batches in the same commit; null if the attempts begin later. */
  readonly holder: string | null;
  /** What may be the probe; null if nothing may be. */
  readonly probe: Probe | null | undefined;
  readonly asked: ClaimQuestions;
}

interface Parts {
  readonly request: ClaimRequest;
  readonly room: number;
  readonly lease: Lease;
  readonly memory: Memory;
  readonly asked: ClaimQuestions;
  readonly look: LookedAt;
}

const NONE: Taken = { renewed: [], made: [] };

/** Leases due deliveries as batches. Another claim of the same sink takes other deliveries, as each skips what the other has locked. */
export class Claiming {
  readonly #random: Random;
  /** What was found of each sink beside its floor, by the sink's name. */
  readonly #memories = new Map<string, Omit<Memory, 'floor'>>();
  readonly #floors: ClaimFloors;

  constructor(clock: Clock, random: Random) {
    this.#floors = new ClaimFloors(clock);
    this.#random = random;
  }

  /** Returns what a claim begins with. */
  ask(request: ClaimRequest, holder: string | null): ClaimQuestions {
    const { turns, known } = this.#memories.get(request.sink) ?? { turns: 0, known: undefined };
    return askToClaim(request, holder, { floor: this.#floors.of(request.sink), turns, known });
  }

  /**
   * Claims batches of a sink. Returns undefined if the sink is held and a probe is due: the caller then finds one with `findProbe`, and calls this
   * again with it.
   */
  async claim(
    tx: Transaction,
    request: ClaimRequest,
    { holder, probe, asked }: Manner,
  ): Promise<Claim | undefined> {
    const found = await lookAt(tx, request, asked);
    if (!found?.active) return nothing(undefined);
    const seen = toSink(found);
    const { heldSince, pausedSince } = seen.health;
    if (pausedSince) return nothing(seen.health);
    if (probe === undefined && isProbeDue(tx, seen) && roomFor(seen, { request, holder }, found) > 0)
      return undefined;
    // Of a held sink there is one probe at a time, whichever process claims it.
    const sink = heldSince ? await lockSink(tx, seen.sinkNo) : seen;
    const look = heldSince ? ((await tx.first(LOOK, asked.look.values)) as LookedAt) : found;
    const lease = { holder, until: tx.now + (request.beginForMs ?? request.leaseMs) };
    const memory: Memory = { ...asked.memory, known: { health: sink.health, stored: look.health } };
    const parts = { request, room: roomFor(sink, { request, holder }, look), lease, memory, asked, look };
    const take = () =>
      sink.health.heldSince ? this.#probe(tx, sink, lease, probe ?? null) : this.#due(tx, sink, parts);
    const taken = parts.room > 0 ? await take() : NONE;
    const { refs, loaded, nextAt } = await this.#finish(tx, sink, { ...parts, taken });
    const nextInMs = nextAt && Math.max(0, nextAt - tx.now);
    const claimed = { refs, nextInMs, health: sink.health };
    return { claimed, loaded, keep: () => this.#keep(request.sink, memory) };
  }

  #keep(sink: string, { floor, ...memory }: Memory): void {
    this.#floors.keep(sink, floor);
    this.#memories.set(sink, memory);
  }

  /** Claims the probe of a held sink, unless it is not due any more. */
  async #probe(tx: Transaction, sink: Sink, lease: Lease, probe: Probe | null): Promise<Taken> {
    if (!probe || !isProbeDue(tx, sink)) return NONE;
    const asked = [sink.sinkNo, tx.now, probe.no];
    if (probe.kind === 'batch')
      return {
        renewed: await renewBatches(tx, this.#random, {
          sink,
          expired: await tx.rows(EXPIRED_BATCH, asked),
          lease,
        }),
        made: [],
      };
    const leads = await tx.rows(DUE_DELIVERY, asked);
    return { renewed: [], made: leads.length > 0 ? [leads] : [] };
  }

  async #due(tx: Transaction, sink: Sink, parts: Parts): Promise<Taken> {
    const { request, room, lease, memory, asked, look } = parts;
    const isAsKnown = look.health === asked.memory.known?.stored && !look.has_expired;
    const found = asked.due && isAsKnown ? await tx.answer(asked.due) : undefined;
    // Expired batches come first: a former probe became due later than the deliveries that were not tried in the meantime.
    const expired = look.has_expired ? await tx.rows(OLDEST, [sink.sinkNo, tx.now, room]) : [];
    const most = room * request.max;
    // One delivery more than the window can take shows that there is a backlog, so the limit is one higher.
    const limit = most - expired.length * request.max + 1;
    const due = await findDue(tx, sink, { memory, most: limit, found });
    const hasBacklog = due.length + expired.length * request.max > most;
    const since = due[0]?.next_attempt_at;
    const newest =
      hasBacklog && since !== undefined
        ? await newestOf(tx, sink, { room, since, request, memory, asked })
        : [];
    const taken = new Set(newest.flat().map((row) => row.delivery_no));
    const some = expired.slice(0, room - newest.length);
    const renewed = await renewBatches(tx, this.#random, { sink, expired: some, lease });
    const left = due.slice(0, most).filter((row) => !taken.has(row.delivery_no));
    const oldest = toBatches(withoutPartialBatch(left, request, tx.now), request.max);
    const made = [...newest, ...oldest].slice(0, room - renewed.length);
    const takenNow = new Set(made.flat().map((row) => row.delivery_no));
    if (hasBacklog) memory.floor = this.#floors.raised(memory.floor, due, takenNow);
    return { renewed, made };
  }

  /** Makes the batches that a claim takes, reads what is in them if their attempts begin, and finds out when the next claim may return one. */
  async #finish(
    tx: Transaction,
    sink: Sink,
    { taken: { renewed, made }, request, lease, memory, look, asked }: Parts & { readonly taken: Taken },
  ): Promise<{
    refs: readonly BatchRef[];
    loaded?: readonly LoadedRow[] | undefined;
    nextAt: number | undefined;
  }> {
    const numbers = made.flat().map(({ delivery_no }) => delivery_no);
    const makes = made.length > 0 ? this.#makeBatches(tx, sink, made, lease) : [];
    const isNew = lease.holder !== null && made.length > 0 && renewed.length === 0;
    const loads = isNew ? tx.rows(LOAD_DELIVERIES, [numbers]) : undefined;
    const nextAt = (leases: Leases) =>
      nextClaimAt(tx, sink, { request, holder: lease.holder, memory, leases });
    if (!look.has_expired) {
      const [leased, own] = [look.leased + made.length, look.own + made.length];
      const lease_end = earliest(look.lease_end, made.length > 0 ? lease.until : undefined) ?? null;
      // All of it in one flight.
      const [refs, loaded, at] = await Promise.all([makes, loads, nextAt({ leased, own, lease_end })]);
      return { refs: [...renewed, ...refs], loaded, nextAt: at };
    }
    const [refs, loaded] = await Promise.all([makes, loads]);
    const leases = (await tx.first(LOOK, asked.look.values)) as LookedAt;
    return { refs: [...renewed, ...refs], loaded, nextAt: await nextAt(leases) };
  }

  async #makeBatches(
    tx: Transaction,
    { name, sinkNo }: Sink,
    batches: readonly (readonly DueRow[])[],
    { until, holder }: Lease,
  ): Promise<BatchRef[]> {
    const leases = batches.map(() => newLease(this.#random));
    const numbers = batches.flatMap((batch) => batch.map(({ delivery_no }) => delivery_no));
    const places = batches.flatMap((batch, index) => batch.map(() => index + 1));
    const rows = await tx.rows(MAKE_BATCHES, [sinkNo, tx.now, leases, until, holder, numbers, places]);
    const leaseOf = new Map(rows.map(({ batch_no, lease }) => [batch_no, lease]));
    return [...leaseOf]
      .sort(([one], [other]) => one - other)
      .map(([batchNo, lease]) => ({ sink: name, batch: batchId(batchNo), lease }));
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
    const floor = this.#floors.of(name);
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

/** Looks at a sink, after it has extended the leases of running attempts that have expired. */
async function lookAt(
  tx: Transaction,
  { activeLeases }: ClaimRequest,
  asked: ClaimQuestions,
): Promise<LookedAt | undefined> {
  const [found] = await tx.answer(asked.look);
  if (!found?.active || !found.has_expired || !activeLeases || activeLeases.leases.length === 0) return found;
  const { leases, leaseMs } = activeLeases;
  const extended = await tx.run(EXTEND, [found.sink_no, tx.now, tx.now + leaseMs, leases]);
  return extended === 0 ? found : tx.first(LOOK, asked.look.values);
}
