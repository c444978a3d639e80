import type { Batch, BatchRef, Delivery } from '../../../src/leads/delivery.ts';
import type { ListedItem, ListedLead } from '../../../src/leads/listed-lead.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import { REFUSALS_BEFORE_HOLD } from '../../../src/leads/sink-health.ts';
import type { Settlement } from '../../../src/ledger/contract/ledger-delivering.ts';
import type { Life } from '../life.ts';
import type { Shown } from '../outside/service.ts';
import { Sent } from './sent.ts';
import { Violation } from './violation.ts';

/** So long at least a ledger that cannot be written is asked again to settle an attempt, in ms from its beginning. */
const PATIENCE_MS = 25_000;

/** What was on its way when a sink was paused may begin so long after, in ms. */
const AFTER_PAUSE_MS = 1_000;

/** An attempt as the ledger began it. */
interface Attempt {
  readonly ref: BatchRef;
  readonly life: Life;
  readonly batch: Batch;
  /** Its place in the order of all that was written. */
  readonly began: number;
  /** The place at which its lease began: before that of the attempt when it was claimed to be attempted at once. */
  readonly leasedAt: number;
  readonly beganMs: number;
  /** How long its lease lasts from then on. */
  readonly leaseMs: number;
  /** What happened to it that lets its deliveries arrive once more. */
  excuse: string | undefined;
  isSettled: boolean;
}

/** A delivery that a destination took. */
export interface Arrival {
  readonly delivery: Delivery;
  readonly attempt: Attempt;
}

/** What is known of one delivery from the outside. */
interface Seen {
  readonly arrivals: Arrival[];
  /** When it was written that it was delivered. */
  deliveredAt: number | undefined;
  /** How many attempts it had used up, and since when it waits, in ms. */
  attempts: number;
  waitingSinceMs: number;
}

/**
 * Watches a run from the outside: what the ledger has written and what the destinations took. Throws as soon as the
 * two cannot both be right.
 */
export class Witness {
  readonly #attempts = new Map<Batch, Attempt>();
  readonly #open = new Set<Attempt>();
  /** The attempt of each batch that began last. */
  readonly #lastOf = new Map<string, Attempt>();
  /** What began as it was claimed, and was not asked for yet, by its lease. */
  readonly #claimed = new Map<
    number,
    { readonly life: Life; readonly sink: string; readonly at: number; excuse: string | undefined }
  >();
  /** Since which place in the order of all that was written each sink is held. */
  readonly #heldAt = new Map<string, number>();
  /** What died at each sink since something got through to it. */
  readonly #refused = new Map<string, readonly Delivery[]>();
  /** The newest version of each lead that was attempted at each sink. */
  readonly #newest = new Map<string, number>();
  readonly #pausedMs = new Map<string, number>();
  readonly #seen = new Map<string, Seen>();
  readonly #delivered = new Map<string, { version: number; at: number }>();
  readonly #lastDeliveredMs = new Map<string, number>();
  readonly #arrivals: Arrival[] = [];
  readonly #recorded = new Map<string, ListedLead>();
  /** Given up by a sink that was to blame for it, and not owed again at once. */
  readonly #leftDead: { sink: string; lead: string; version: number }[] = [];
  readonly #sent = new Sent();
  readonly #nowMs: () => number;
  #written = 0;
  /** Attempts that began. */
  attempts = 0;
  /** The clock was set otherwise: what was waiting since when cannot be told from outside. */
  clockJumped = false;
  /** Arrivals of what had arrived before. */
  repeats = 0;
  /** The first promise that was seen to be broken: a process may swallow what it is told by throwing. */
  violation: Violation | undefined;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The leases of these run from now on. */
  claimed(life: Life, refs: readonly BatchRef[]): void {
    for (const ref of refs) {
      this.#claimed.set(ref.lease, { life, sink: ref.sink, at: this.#next(), excuse: undefined });
      this.#sent.claimed(ref);
    }
  }

  /** `outdated`: those of its deliveries whose lead had a newer content already. */
  began(life: Life, ref: BatchRef, leaseMs: number, batch: Batch, outdated: readonly Delivery[]): void {
    this.#sent.began(ref, batch, outdated, (what) => this.blame(what));
    const claimed = this.#claimed.get(ref.lease);
    const attempt: Attempt = {
      ref,
      life,
      batch,
      began: this.#next(),
      leasedAt: claimed?.at ?? this.#written,
      beganMs: this.#nowMs(),
      leaseMs,
      excuse: claimed?.excuse,
      isSettled: false,
    };
    this.#checkProbe(attempt);
    this.attempts += 1;
    this.#claimed.delete(ref.lease);
    this.#attempts.set(batch, attempt);
    this.#open.add(attempt);
    for (const one of batch.deliveries) {
      const lead = leadOf(one, ref.sink);
      this.#newest.set(lead, Math.max(this.#newest.get(lead) ?? 0, one.version));
    }
    this.#lastOf.set(ref.batch, attempt);
    const pausedMs = this.#pausedMs.get(ref.sink);
    if (pausedMs !== undefined && attempt.excuse === undefined && this.#nowMs() - pausedMs > AFTER_PAUSE_MS)
      this.blame(`batch ${ref.batch} was attempted although ${ref.sink} is paused`);
    if (batch.deliveries.length === 0) this.blame(`an attempt of nothing (${batch.id})`);
  }

  /** While a sink is held, its destination sees one probe at a time, beside what was on its way before. */
  #checkProbe(attempt: Attempt): void {
    const { sink } = attempt.ref;
    const heldAt = this.#heldAt.get(sink);
    if (heldAt === undefined || attempt.leasedAt < heldAt || attempt.excuse !== undefined) return;
    const others = [...this.#open].filter(
      (one) =>
        one.ref.sink === sink && one.leasedAt > heldAt && one.excuse === undefined && !this.#isOver(one),
    );
    if (others.length > 0 && !this.clockJumped)
      this.blame(`batch ${attempt.ref.batch} was attempted beside another probe of ${sink}, which is held`);
  }

  /** Something of a batch leaves its process. Nothing may once the lease is over, however long the process stood still. */
  sent(batch: Batch): void {
    const attempt = this.#attempts.get(batch);
    if (!attempt || this.clockJumped) return;
    const { ref } = attempt;
    if (this.#isOver(attempt) || this.#lastOf.get(ref.batch) !== attempt)
      this.blame(`batch ${ref.batch} was sent to ${ref.sink} although the lease of the attempt was over`);
  }

  /** Whether the lease of an attempt is over: it may send nothing more, and others may. */
  #isOver({ beganMs, leaseMs }: Attempt): boolean {
    return this.#nowMs() - beganMs >= leaseMs;
  }

  arrived(batch: Batch, delivery: Delivery): void {
    const attempt = this.#attempts.get(batch);
    if (!attempt) {
      this.blame(`${delivery.id} was sent without an attempt`);
      return;
    }
    const seen = this.#of(delivery.id);
    if (seen.deliveredAt !== undefined && seen.deliveredAt < attempt.began)
      this.blame(`${delivery.id} was attempted after it was settled as delivered`);
    for (const before of seen.arrivals) {
      if (before.attempt === attempt) this.blame(`${delivery.id} was sent twice in one attempt`);
      // What is on its way can be overtaken, so the one that came last need not be the one that began last.
      const first = before.attempt.began < attempt.began ? before.attempt : attempt;
      if (first.excuse === undefined)
        this.blame(`${delivery.id} arrived twice, and nothing happened that would excuse it`);
    }
    const last = this.#delivered.get(leadOf(delivery, batch.sink));
    if (last && last.version > delivery.version && last.at < attempt.began)
      this.blame(`${delivery.id} was attempted after version ${last.version} of the same lead was delivered`);
    if (seen.arrivals.length > 0) this.repeats += 1;
    const arrival = { delivery, attempt };
    seen.arrivals.push(arrival);
    this.#arrivals.push(arrival);
  }

  /** Somebody has paused a sink: soon no attempt begins any more. */
  paused(sink: string): void {
    this.#pausedMs.set(sink, this.#nowMs());
  }

  /** Somebody is about to make the dead due again. */
  retried(sink: string): void {
    this.#refused.delete(sink);
  }

  /** Somebody is about to resume it. */
  resumed(sink: string): void {
    this.#pausedMs.delete(sink);
    this.#heldAt.delete(sink);
  }

  /** The process is told something else than what the destination did, or nothing. */
  excuse(batch: Batch, why: string): void {
    const attempt = this.#attempts.get(batch);
    if (attempt) attempt.excuse ??= why;
  }

  /** What is under way (of one process) may be repeated. */
  excuseOpen(why: string, life?: Life): void {
    for (const one of [...this.#open, ...this.#claimed.values()])
      if (life === undefined || one.life === life) one.excuse ??= why;
  }

  /** The ledger could not be written. It is asked again, so only in the long run may that lead to a repeat. */
  notSettled(life: Life, ref: BatchRef): void {
    const attempt = this.#underWay(life, ref);
    if (attempt && this.#nowMs() - attempt.beganMs > PATIENCE_MS)
      attempt.excuse ??= 'the ledger could not be written';
  }

  settled(life: Life, ref: BatchRef, outcomes: readonly Outcome[], settled: Settlement | undefined): void {
    const attempt = this.#underWay(life, ref);
    if (!attempt) {
      if (settled) this.blame(`batch ${ref.batch} was settled under lease ${ref.lease}, which began nothing`);
      return;
    }
    this.#open.delete(attempt);
    if (!settled) {
      if (attempt.excuse === undefined)
        this.blame(`the lease of batch ${ref.batch} ended during its attempt`);
      return;
    }
    attempt.isSettled = true;
    this.#sent.settled(ref, attempt.batch, outcomes, settled.verdicts);
    if (this.#lastOf.get(ref.batch) !== attempt)
      this.blame(`batch ${ref.batch} was settled under a lease that another attempt had replaced`);
    const at = this.#next();
    for (const [index, delivery] of attempt.batch.deliveries.entries())
      this.#settledOne(attempt, delivery, outcomes[index], settled, index, at);
    this.#checkRefusals(attempt.batch, settled);
    if (!settled.after.heldSince) this.#heldAt.delete(attempt.batch.sink);
    else if (!this.#heldAt.has(attempt.batch.sink)) this.#heldAt.set(attempt.batch.sink, at);
    if (outcomes.some((outcome) => outcome.kind === 'delivered'))
      this.#lastDeliveredMs.set(attempt.batch.sink, this.#nowMs());
  }

  /**
   * A sink that refuses lead after lead is to blame for it, and not the leads: when it is found out, they are owed again,
   * unless a newer content of theirs is on its way. Whether it was shows at the end: then the sink has got it.
   */
  #checkRefusals({ sink, deliveries }: Batch, { before, after, verdicts, revived }: Settlement): void {
    const isFoundOut = before.refusals < REFUSALS_BEFORE_HOLD && after.refusals >= REFUSALS_BEFORE_HOLD;
    const died = before.refusals === 0 ? [] : (this.#refused.get(sink) ?? []);
    const present = died.filter((one) => (this.#newest.get(leadOf(one, sink)) ?? 0) <= one.version);
    if (isFoundOut && present.length > 1 && revived === 0)
      for (const one of present) this.#leftDead.push({ sink, lead: leadOf(one, sink), version: one.version });
    const dead = deliveries.filter((_, index) => verdicts[index]?.state === 'dead');
    this.#refused.set(sink, after.refusals === 0 ? [] : [...died, ...dead]);
  }

  #underWay(life: Life, ref: BatchRef): Attempt | undefined {
    return [...this.#open].find((one) => one.life === life && sameLease(one.ref, ref));
  }

  #settledOne(
    attempt: Attempt,
    delivery: Delivery,
    outcome: Outcome | undefined,
    settled: Settlement,
    index: number,
    at: number,
  ): void {
    const { sink } = attempt.batch;
    const seen = this.#of(delivery.id);
    const verdict = settled.verdicts[index];
    if (!verdict || !outcome) {
      this.blame(`${delivery.id} was settled without a verdict`);
      return;
    }
    if ((verdict.state === 'delivered') !== (outcome.kind === 'delivered'))
      this.blame(`${delivery.id} is ${verdict.state}, and its outcome was ${outcome.kind}`);
    if (verdict.state === 'dead' && !verdict.reason) this.blame(`${delivery.id} is dead without a reason`);
    if (verdict.state === 'delivered') {
      if (seen.deliveredAt !== undefined) this.blame(`${delivery.id} was settled as delivered twice`);
      if (!seen.arrivals.some((arrival) => arrival.attempt === attempt))
        this.blame(`${delivery.id} was settled as delivered by an attempt that did not bring it`);
      seen.deliveredAt = at;
      const key = leadOf(delivery, sink);
      if ((this.#delivered.get(key)?.version ?? 0) <= delivery.version)
        this.#delivered.set(key, { version: delivery.version, at });
    } else attempt.excuse ??= 'it was not settled as delivered';
    const usedUp = verdict.state !== 'delivered' && verdict.attempts > seen.attempts;
    if (usedUp && outcome.kind === 'unavailable' && settled.before.heldSince && settled.after.heldSince)
      this.blame(`${delivery.id} used up an attempt while ${sink} is held`);
    const others = outcomesDeliver(settled) || (this.#lastDeliveredMs.get(sink) ?? -1) >= seen.waitingSinceMs;
    if (usedUp && outcome.kind === 'unavailable' && !others && !this.clockJumped)
      this.blame(`${delivery.id} used up an attempt while nothing got through to ${sink}`);
    seen.attempts = verdict.attempts;
    seen.waitingSinceMs = attempt.beganMs;
  }

  /** The ledger has said that it has recorded these. */
  recorded(items: readonly ListedItem[]): void {
    for (const item of items) if (item.kind === 'lead') this.#recorded.set(`${item.id} ${item.hash}`, item);
  }

  /** It has said that a listing is recorded to its end: whatever stood in it has to be known by now. */
  listed(shown: Shown): void {
    for (const [id, hash] of shown)
      if (!this.#recorded.has(`${id} ${hash}`))
        this.blame(`lead ${id} stood in a listing that was recorded to its end, and was not recorded`);
  }

  /** At the end: the leads that a sink which refused every one has never got. */
  get neverRevived(): readonly string[] {
    return this.#leftDead
      .filter(({ lead, version }) => (this.#delivered.get(lead)?.version ?? 0) < version)
      .map(({ sink, lead }) => `${lead} stays dead of ${sink}, which refused every lead`);
  }

  /** Every content of a lead that the ledger has said to have recorded. */
  get contents(): readonly ListedLead[] {
    return [...this.#recorded.values()];
  }

  /** What has arrived of a delivery, in order. */
  arrivalsOf(delivery: string): readonly Arrival[] {
    return this.#seen.get(delivery)?.arrivals ?? [];
  }

  /** How many attempts of a delivery came to nothing that was written. */
  lostAttemptsOf(delivery: string): number {
    return [...this.#attempts.values()].filter(
      ({ batch, isSettled }) => !isSettled && batch.deliveries.some(({ id }) => id === delivery),
    ).length;
  }

  /** What arrived last of each lead at a sink, by the lead's id. */
  lastOf(sink: string): Map<bigint, Arrival> {
    const last = new Map<bigint, Arrival>();
    for (const arrival of this.#arrivals)
      if (arrival.attempt.batch.sink === sink) last.set(arrival.delivery.leadId, arrival);
    return last;
  }

  blame(what: string): void {
    this.violation ??= new Violation(what);
  }

  #of(delivery: string): Seen {
    const known = this.#seen.get(delivery);
    if (known) return known;
    const seen: Seen = { arrivals: [], deliveredAt: undefined, attempts: 0, waitingSinceMs: -1 };
    this.#seen.set(delivery, seen);
    return seen;
  }

  #next(): number {
    this.#written += 1;
    return this.#written;
  }
}

function outcomesDeliver(settled: Settlement): boolean {
  return settled.verdicts.some((verdict) => verdict.state === 'delivered');
}

function sameLease(one: BatchRef, other: BatchRef): boolean {
  return one.batch === other.batch && one.lease === other.lease;
}

function leadOf(delivery: Delivery, sink: string): string {
  return `${sink} ${delivery.source} ${delivery.leadId}`;
}
