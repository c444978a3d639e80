import type Database from 'better-sqlite3';
import type { BatchRef } from '../../leads/delivery.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import type { ActiveLeases, ClaimRequest, ClaimResult } from '../contract/claim.ts';
import type { SinkRow, SinkRows } from '../database/sink-rows.ts';
import { type BatchRow, type DueRow, type ProbeSql, prepareClaiming } from './claiming-sql.ts';

/** So often may an attempt of a batch start and never end before the batch is split, to find the lead that does it. */
const LOST_BEFORE_SPLIT = 3;
/** And so often, for one lead alone, before the next attempt is put off: a minute, two, four, up to an hour. */
const LOST_BEFORE_DELAY = 5;
const HOUR_MS = 3_600_000;
/** While a backlog drains, every so many places the newest lead takes one; in a window of fewer places they take turns. */
const NEWEST_EVERY = 4;
/** A lead is newer than the backlog when it is due so much later than the oldest of it, in ms. */
const NEWER_BY_MS = 1_000;
/** Bounds the search for them: so many may each wait for an older content of their lead. */
const MAX_BLOCKED = 100;
/** A batch is closed when its leads' texts are this long together: all of them are in memory while it is attempted. */
const BATCH_BYTES = 32_000_000;

/** Less than this is a clock being kept in time, in ms. */
const CLOCK_STEP_MS = 2_000;

/** Until when a batch is leased, and who has begun its attempt; null: nobody yet. */
interface Lease {
  until: number;
  holder: string | null;
}

/** A batch's public id. */
function batchId(batchNo: number): string {
  return `b${batchNo.toString(36)}`;
}

/** The number behind a batch's public id; NaN for what is none. */
export function batchNumber(id: string): number {
  return /^b[0-9a-z]+$/.test(id) ? Number.parseInt(id.slice(1), 36) : Number.NaN;
}

/** From what is owed to batches on their way. Runs inside its caller's transaction. */
export class Claiming {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #rows: SinkRows;
  readonly #sql;
  /** Places that each sink gave away while it had a backlog: they say whose turn it is. */
  readonly #turns = new Map<number, number>();
  /** How far the wall clock was ahead of the time that passes when something was last claimed, in ms. */
  #aheadMs: number;

  constructor(db: Database.Database, clock: Clock, random: Random, rows: SinkRows) {
    this.#clock = clock;
    this.#random = random;
    this.#rows = rows;
    this.#sql = prepareClaiming(db);
    this.#aheadMs = clock.now().getTime() - clock.monotonicMs();
  }

  /** `holder` is the process that begins the attempts, if it is to begin them at once. */
  claim(request: ClaimRequest, holder: string | null): ClaimResult {
    const sink = this.#rows.get(request.sink);
    if (!sink?.active) return { refs: [], nextAt: undefined };
    const now = this.#clock.now().getTime();
    this.#followClock(now);
    this.#extendLeases(sink, request.activeLeases, now);
    const { health } = sink;
    if (health.pausedSince) return { refs: [], nextAt: undefined, health };
    const lease = { holder, until: now + (request.beginForMs ?? request.leaseMs) };
    const refs = health.heldSince ? this.#probe(sink, lease, now) : this.#due(sink, request, lease, now);
    const nextAt = this.#nextAt(sink, request, now);
    return { refs, nextAt: nextAt === undefined ? undefined : new Date(nextAt), health };
  }

  /**
   * A clock that was set ahead ends no attempt's lease: the leases of all processes move along with it. One that is set back is
   * dealt with by `ClockSetting`.
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
   * While a sink is held, one batch at a time finds out whether it works again: a lost one, or the lead that is due first. One that
   * was refused, or tells of an erased lead, finds out little, so it is the last to be asked.
   */
  #probe(sink: SinkRow, lease: Lease, now: number): BatchRef[] {
    const early = now < (sink.health.probeAt?.getTime() ?? now);
    if (early || this.#inFlight(sink, now) > 0) return [];
    const { conclusive, any } = this.#sql.probes;
    const refs = this.#probeBy(conclusive, sink, lease, now);
    return refs.length > 0 ? refs : this.#probeBy(any, sink, lease, now);
  }

  #probeBy({ due, expired }: ProbeSql, sink: SinkRow, lease: Lease, now: number): BatchRef[] {
    const [lead] = due.all(sink.sinkNo, now, 1);
    const batches = expired.all(sink.sinkNo, now, 1);
    const [first] = batches;
    // Whichever waits longest, so that one lead that always fails cannot keep the others from proving that all is well.
    if (lead && (!first || lead.next_attempt_at < first.leased_until))
      return this.#makeBatches(sink, [[lead]], lease, now);
    return this.#renew(sink, batches, lease, now);
  }

  #due(sink: SinkRow, request: ClaimRequest, lease: Lease, now: number): BatchRef[] {
    const room = capacityOf(sink, request) - this.#inFlight(sink, now);
    if (room <= 0) return [];
    // Those that were probes wait less long than what was never tried since; that must not put them behind it.
    const expired = this.#sql.oldest.all(sink.sinkNo, now, room);
    const most = room * request.max;
    // One more than there is room for tells that there is a backlog.
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
   * The newest leads that are due, for those of `places` that are their turn: a backlog, due `since`, must not keep them
   * waiting. What became due together goes in order of age. Where they do not fill a batch, they wait as others do: a backlog
   * that drains into files must not leave many small ones.
   */
  #newest(
    { sinkNo }: SinkRow,
    places: number,
    since: number,
    request: ClaimRequest,
    now: number,
  ): DueRow[][] {
    const { window, max } = request;
    const every = Math.min(Math.max(window, 2), NEWEST_EVERY);
    const before = this.#turns.get(sinkNo) ?? 0;
    this.#turns.set(sinkNo, (before + places) % every);
    const turns = Math.floor((before + places) / every);
    if (turns === 0) return [];
    const most = turns * max;
    const rows = this.#sql.newest.all(sinkNo, now, most + MAX_BLOCKED, most);
    const newer = rows.filter((row) => row.next_attempt_at - since >= NEWER_BY_MS);
    return toBatches(withoutPartialBatch(newer, request, now), max).slice(0, turns);
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
        this.#sql.addBatch.run(sink.sinkNo, now, lease, until, holder, 0).lastInsertRowid,
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

  /** Offers batches again, as the same batches, whose lease has ended. */
  #renew(sink: SinkRow, expired: readonly BatchRow[], { until, holder }: Lease, now: number): BatchRef[] {
    const refs: BatchRef[] = [];
    for (const row of expired) {
      const lost = row.holder === null ? row.lost : row.lost + 1;
      if (row.holder !== null) this.#sql.markUnsure.run(now, row.batch_no);
      const delayMs = row.holder !== null ? this.#splitOrDelay(sink, row, lost, now) : 0;
      // What is put off is not on its way: without a lease it takes nobody's place and is not offered meanwhile.
      const lease = delayMs > 0 ? 0 : this.#newLease();
      if (lease === 0) this.#sql.renew.run(0, now + delayMs, null, lost, row.batch_no);
      else this.#sql.renew.run(lease, until, holder, lost, row.batch_no);
      if (lease === 0) continue;
      refs.push({ sink: sink.name, batch: batchId(row.batch_no), lease, replaces: row.lease || undefined });
    }
    return refs;
  }

  /** Acts on a batch whose attempts start and never end: halves it; puts one lead alone off, and says why. Gives for how long, in ms. */
  #splitOrDelay(sink: SinkRow, row: BatchRow, lost: number, now: number): number {
    if (lost < LOST_BEFORE_SPLIT) return 0;
    const deliveries = this.#sql.inBatch.all(row.batch_no);
    if (deliveries.length > 1) {
      const added = this.#sql.addBatch.run(sink.sinkNo, row.created_at, this.#newLease(), now, null, lost);
      const half = deliveries.slice(Math.ceil(deliveries.length / 2));
      this.#assign(Number(added.lastInsertRowid), half);
      return 0;
    }
    if (lost < LOST_BEFORE_DELAY) return 0;
    const delayMs = Math.min(60_000 * 2 ** (lost - LOST_BEFORE_DELAY), HOUR_MS);
    const reason = `Its last ${lost} attempts began and never ended: leadsync was killed, or died, in each.`;
    this.#sql.delay.run(reason, now + delayMs, row.batch_no);
    return delayMs;
  }

  unbegunBatches(name: string): BatchRef[] {
    const sink = this.#rows.get(name);
    if (!sink) return [];
    const rows = this.#sql.waiting.all(sink.sinkNo, this.#clock.now().getTime());
    return rows.map((row) => ({ sink: name, batch: batchId(row.batch_no), lease: row.lease }));
  }

  activity(name: string): { inFlight: number; due: boolean } {
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

  #inFlight(sink: SinkRow, now: number): number {
    return this.#sql.leased.get(sink.sinkNo, now) ?? 0;
  }

  /**
   * When claiming again may give something. Never now, unless it would: with no room left only the end of a lease can
   * make some by itself, and an attempt that ends before will ask by itself.
   */
  #nextAt(sink: SinkRow, request: ClaimRequest, now: number): number | undefined {
    const { heldSince, probeAt } = sink.health;
    if (heldSince && probeAt && probeAt.getTime() > now) return probeAt.getTime();
    const leaseEnd = this.#sql.nextLeaseEnd.get(sink.sinkNo, now) ?? undefined;
    const room = capacityOf(sink, request) - this.#inFlight(sink, now);
    if (room <= 0) return leaseEnd;
    return earliest(leaseEnd, this.#sql.nextDue.get(heldSince ? 0 : request.waitMs, sink.sinkNo));
  }

  /** Drawn, not counted: a job left over from before a ledger was restored must not match by chance. */
  #newLease(): number {
    return 1 + Math.floor(this.#random() * (2 ** 52 - 1));
  }
}

/** How many batches of a sink may be on their way: one while it is held, few while it recovers. */
function capacityOf({ health }: SinkRow, { window }: ClaimRequest): number {
  return health.heldSince ? 1 : Math.min(window, health.places ?? window);
}

/** Leaves out the last deliveries, which do not fill a batch, as long as all of them may wait. */
function withoutPartialBatch(
  due: readonly DueRow[],
  { max, waitMs }: ClaimRequest,
  now: number,
): readonly DueRow[] {
  const full = due.length - (due.length % max);
  const mayWait = due.slice(full).every((row) => row.owed_at <= now && row.owed_at + waitMs > now);
  return mayWait ? due.slice(0, full) : due;
}

/** In batches of at most `max` deliveries and `BATCH_BYTES`, in order; a lead that is longer alone is a batch alone. */
function toBatches(due: readonly DueRow[], max: number): DueRow[][] {
  const batches: DueRow[][] = [];
  let bytes = 0;
  for (const row of due) {
    const last = batches.at(-1);
    bytes += row.bytes;
    if (last && last.length < max && bytes <= BATCH_BYTES) last.push(row);
    else {
      batches.push([row]);
      bytes = row.bytes;
    }
  }
  return batches;
}

function earliest(...times: (number | null | undefined)[]): number | undefined {
  const known = times.filter((time) => time != null);
  return known.length > 0 ? Math.min(...known) : undefined;
}
