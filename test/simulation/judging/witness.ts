import type { Batch, BatchRef, Delivery } from '../../../src/leads/delivery.ts';
import type { ListedItem, ListedLead } from '../../../src/leads/listed-lead.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import { REFUSALS_BEFORE_HOLD } from '../../../src/leads/sink-health.ts';
import type { Settlement } from '../../../src/ledger/contract/ledger-delivering.ts';
import type { Life } from '../life.ts';
import type { Shown } from '../outside/service.ts';
import { Sent } from './sent.ts';
import { Violation } from './violation.ts';

/** Minimum time for which a process retries settling on a ledger that cannot be written, in ms from the beginning of the attempt. */
const PATIENCE_MS = 25_000;

/** Time after pausing a sink in which claimed batches may still begin, in ms. */
const AFTER_PAUSE_MS = 1_000;

/** An attempt as the ledger began it. */
interface Attempt {
  readonly ref: BatchRef;
  readonly life: Life;
  readonly batch: Batch;
  /** Its position in the order of all writes. */
  readonly began: number;
  /** The position at which its lease began: before the attempt's own if the batch was claimed to begin immediately. */
  readonly leasedAt: number;
  readonly beganMs: number;
  /** How long its lease lasts from then on, in ms. */
  readonly leaseMs: number;
  /** Why its deliveries may arrive again, if they may. */
  excuse: string | undefined;
  isSettled: boolean;
}

/** A delivery that a destination accepted. */
export interface Arrival {
  readonly delivery: Delivery;
  readonly attempt: Attempt;
}

/** What is known of one delivery from outside. */
interface Seen {
  readonly arrivals: Arrival[];
  /** The position at which it was written as delivered. */
  deliveredAt: number | undefined;
  /** The number of attempts that it had used up, and the time since which it has been waiting, in ms. */
  attempts: number;
  waitingSinceMs: number;
}

/**
 * Watches a run from outside: what the ledger has written and what the destinations accepted. Throws as soon as the two contradict each
 * other.
 */
export class Witness {
  readonly #attempts = new Map<Batch, Attempt>();
  readonly #open = new Set<Attempt>();
  /** The attempt of each batch that began last. */
  readonly #lastOf = new Map<string, Attempt>();
  /** Attempts that began with their claim and were not yet requested, by lease. */
  readonly #claimed = new Map<
    number,
    { readonly life: Life; readonly sink: string; readonly at: number; excuse: string | undefined }
  >();
  /** The position in the order of all writes since which each sink has been held. */
  readonly #heldAt = new Map<string, number>();
  /** Deliveries that died at each sink since its last success. */
  readonly #refused = new Map<string, readonly Delivery[]>();
  /** The newest version of each lead that was attempted at each sink. */
  readonly #newest = new Map<string, number>();
  readonly #pausedMs = new Map<string, number>();
  readonly #seen = new Map<string, Seen>();
  readonly #delivered = new Map<string, { version: number; at: number }>();
  readonly #lastDeliveredMs = new Map<string, number>();
  readonly #arrivals: Arrival[] = [];
  readonly #recorded = new Map<string, ListedLead>();
  /** Deliveries given up by a sink that refused everything, and not owed again immediately. */
  readonly #leftDead: { sink: string; lead: string; version: number }[] = [];
  readonly #sent = new Sent();
  readonly #nowMs: () => number;
  #written = 0;
  /** The number of attempts that began. */
  attempts = 0;
  /** Whether the clock was set: waiting times cannot be determined from outside any more. */
  clockJumped = false;
  /** The number of arrivals of what had arrived before. */
  repeats = 0;
  /** The first broken promise: a process may swallow the error that reports it. */
  violation: Violation | undefined;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Starts the leases of these batches. */
  claimed(life: Life, refs: readonly BatchRef[]): void {
    for (const ref of refs) {
      this.#claimed.set(ref.lease, { life, sink: ref.sink, at: this.#next(), excuse: undefined });
      this.#sent.claimed(ref);
    }
  }

  /** @param outdated the deliveries whose lead already had a newer content */
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

  /** Checks that the destination of a held sink gets one probe at a time, besides what began before the hold. */
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

  /** Records that a batch leaves its process, which is forbidden once the lease has ended, however long the process was frozen. */
  sent(batch: Batch): void {
    const attempt = this.#attempts.get(batch);
    if (!attempt || this.clockJumped) return;
    const { ref } = attempt;
    if (this.#isOver(attempt) || this.#lastOf.get(ref.batch) !== attempt)
      this.blame(`batch ${ref.batch} was sent to ${ref.sink} although the lease of the attempt was over`);
  }

  /** Whether the lease of an attempt has ended: it may send nothing more, and others may attempt the batch. */
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
      // Requests can overtake each other, so the last to arrive need not be the last that began.
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

  /** Records that an operator paused a sink: soon no attempt may begin. */
  paused(sink: string): void {
    this.#pausedMs.set(sink, this.#nowMs());
  }

  /** Records that an operator is about to make the dead deliveries due again. */
  retried(sink: string): void {
    this.#refused.delete(sink);
  }

  /** Records that an operator is about to resume the sink. That ends no hold. */
  resumed(sink: string): void {
    this.#pausedMs.delete(sink);
  }

  /** Records that the process got no answer, or not the destination's. */
  excuse(batch: Batch, why: string): void {
    const attempt = this.#attempts.get(batch);
    if (attempt) attempt.excuse ??= why;
  }

  /** Records that running attempts (of one process) may be repeated. */
  excuseOpen(why: string, life?: Life): void {
    for (const one of [...this.#open, ...this.#claimed.values()])
      if (life === undefined || one.life === life) one.excuse ??= why;
  }

  /** Records that the ledger could not be written. The process retries, so this leads to a repeat only after a long time. */
  notSettled(life: Life, ref: BatchRef): void {
    const attempt = this.#underWay(life, ref);
    if (attempt && this.#nowMs() - attempt.beganMs > PATIENCE_MS)
      attempt.excuse ??= 'the ledger could not be written';
  }

  /** Records that an attempt was given up. @param mayHaveArrived whether its process says that a lead may have arrived */
  released(life: Life, ref: BatchRef, mayHaveArrived: boolean): void {
    const attempt = this.#underWay(life, ref);
    if (!attempt) return;
    if (!mayHaveArrived && this.#arrivals.some((one) => one.attempt === attempt))
      this.blame(`batch ${ref.batch} was released as one that did not arrive, and it arrived`);
    this.#sent.released(ref, attempt.batch, mayHaveArrived);
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
   * A sink that refuses lead after lead is itself at fault. Once leadsync detects that, the leads are owed again, unless a newer content of
   * theirs is being delivered. The end of the run shows whether it was detected: then the sink has the leads.
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

  /** Records that the ledger confirmed these items. */
  recorded(items: readonly ListedItem[]): void {
    for (const item of items) if (item.kind === 'lead') this.#recorded.set(`${item.id} ${item.hash}`, item);
  }

  /** Records that the ledger confirmed a complete listing: everything in it must be known by now. */
  listed(shown: Shown): void {
    for (const [id, hash] of shown)
      if (!this.#recorded.has(`${id} ${hash}`))
        this.blame(`lead ${id} stood in a listing that was recorded to its end, and was not recorded`);
  }

  /** Returns, at the end, the leads that a sink which refused every lead has never got. */
  get neverRevived(): readonly string[] {
    return this.#leftDead
      .filter(({ lead, version }) => (this.#delivered.get(lead)?.version ?? 0) < version)
      .map(({ sink, lead }) => `${lead} stays dead of ${sink}, which refused every lead`);
  }

  /** Returns every content of a lead that the ledger confirmed. */
  get contents(): readonly ListedLead[] {
    return [...this.#recorded.values()];
  }

  /** Returns the arrivals of a delivery, in order. */
  arrivalsOf(delivery: string): readonly Arrival[] {
    return this.#seen.get(delivery)?.arrivals ?? [];
  }

  /** Returns how many attempts of a delivery ended without a written outcome. */
  lostAttemptsOf(delivery: string): number {
    return [...this.#attempts.values()].filter(
      ({ batch, isSettled }) => !isSettled && batch.deliveries.some(({ id }) => id === delivery),
    ).length;
  }

  /** Returns what arrived last of each lead at a sink, by the lead's id. */
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
