import { expect } from 'vitest';
import { judgeBy } from '../../src/delivery/judge.ts';
import type { Batch, BatchRef } from '../../src/leads/delivery.ts';
import type { Judge } from '../../src/leads/judgement.ts';
import type { ListedItem, ListedLead } from '../../src/leads/listed-lead.ts';
import type { Delivered, Outcome, Refused, Unavailable } from '../../src/leads/outcome.ts';
import type { ClaimRequest } from '../../src/ledger/contract/claim.ts';
import type { DeclaredSink } from '../../src/ledger/contract/declaration.ts';
import type { Ledger } from '../../src/ledger/contract/ledger.ts';
import type { Settlement } from '../../src/ledger/contract/ledger-delivering.ts';
import type { PollEnd } from '../../src/ledger/contract/ledger-polling.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { HeldClock } from '../support/time/held-clock.ts';

/** Opens a ledger on one store; a second call opens the same store again, as another process would. */
export type OpenLedger = (parts: {
  clock: HeldClock;
  judge: Judge;
  random: () => number;
  holder: string;
}) => Ledger;

export const delivered: Delivered = { kind: 'delivered' };
export const refused: Refused = { kind: 'refused', reason: 'It says no.', httpStatus: 422, answer: 'no' };
export const unavailable: Unavailable = { kind: 'unavailable', reason: 'It is down.', httpStatus: 503 };
/** No answer came, so the lead may have arrived. */
export const unanswered: Unavailable = { kind: 'unavailable', reason: 'The connection was lost.' };

/** The holder's name with which these tests open the ledger. */
export const HOLDER = 'this-test';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

const complete: PollEnd = { status: 'success', bytes: 10, httpStatus: 200, mark: undefined };

/** A ledger with the steps that its tests repeat. It declares the sinks that it is created with. */
export class LedgerUnderTest {
  readonly clock: HeldClock;
  readonly ledger: Ledger;
  readonly #open: OpenLedger;
  readonly #judge: Judge;

  constructor(open: OpenLedger, clock = new HeldClock()) {
    this.#open = open;
    this.clock = clock;
    // A random value half-way means no jitter, so that times in tests are round.
    this.#judge = judgeBy(
      () => ({ scheduleMs: [5_000, 5 * MINUTE], jitter: 0.2 }),
      () => 0.5,
    );
    this.ledger = open({ clock, judge: this.#judge, random: Math.random, holder: HOLDER });
  }

  static async with(open: OpenLedger, ...sinks: (string | DeclaredSink)[]): Promise<LedgerUnderTest> {
    const made = new LedgerUnderTest(open);
    await made.declare(...sinks);
    return made;
  }

  /** Opens the same store again. */
  again(): LedgerUnderTest {
    return new LedgerUnderTest(this.#open, this.clock);
  }

  declare(...sinks: (string | DeclaredSink)[]): Promise<void> {
    return this.ledger.declareSinks(sinks.map((sink) => (typeof sink === 'string' ? aSink(sink) : sink)));
  }

  /** Records a complete listing of these leads. */
  async list(items: readonly (ListedItem | number | bigint)[], source = 'main', end: PollEnd = complete) {
    const poll = await this.ledger.startPoll(source);
    const recorded = await this.ledger.record(poll, asItems(items));
    const summary = await this.ledger.finishPoll(poll, end);
    return { poll, recorded, summary };
  }

  claim(sink: string, request: Partial<ClaimRequest> = {}) {
    return this.ledger.claim({ sink, window: 100, max: 1, waitMs: 0, leaseMs: MINUTE, ...request });
  }

  /** Claims exactly one batch and begins its attempt. */
  async take(sink: string, request: Partial<ClaimRequest> = {}): Promise<{ ref: BatchRef; batch: Batch }> {
    const { refs } = await this.claim(sink, request);
    expect(refs).toHaveLength(1);
    return this.begin(refs[0] as BatchRef);
  }

  async begin(ref: BatchRef, leaseMs = MINUTE): Promise<{ ref: BatchRef; batch: Batch }> {
    const begun = await this.ledger.begin(ref, leaseMs);
    if (!begun) throw new Error('there is nothing to begin');
    return { ref, batch: begun.batch };
  }

  settle(ref: BatchRef, ...outcomes: Outcome[]): Promise<Settlement | undefined> {
    return this.ledger.settle(ref, { outcomes, startedAt: this.clock.in(-12), durationMs: 12 });
  }

  /** Attempts everything that can be claimed, once. Returns the ids of the leads by batch, in order. */
  async attemptAll(sink: string, outcome: Outcome = delivered, request: Partial<ClaimRequest> = {}) {
    const { refs } = await this.claim(sink, request);
    const leads: bigint[][] = [];
    for (const ref of refs) {
      const { batch } = await this.begin(ref);
      leads.push(batch.deliveries.map((delivery) => delivery.leadId));
      await this.settle(ref, ...batch.deliveries.map(() => outcome));
    }
    return leads;
  }

  /** Attempts at most so many of what a sink is owed, one after another. */
  async attemptSome(sink: string, limit: number, outcome: Outcome): Promise<void> {
    const { refs } = await this.claim(sink, { window: limit });
    for (const ref of refs) await this.settle((await this.begin(ref)).ref, outcome);
  }

  /** Returns every delivery of a sink as `lead version state`, oldest first. */
  async owed(sink: string): Promise<string[]> {
    const rows = await this.ledger.deliveries({ sink }, { limit: 10_000 });
    return rows.toReversed().map((row) => `${row.lead} v${row.version} ${row.state}`);
  }
}

export function aSink(name: string, fields: Partial<DeclaredSink> = {}): DeclaredSink {
  return { name, events: ['created'], backfill: true, ...fields };
}

/** Turns numbers into leads with that id. */
function asItems(items: readonly (ListedItem | number | bigint)[]): ListedItem[] {
  return items.map((item, position) =>
    typeof item === 'object' ? { ...item, position } : aListedLead({ id: item }, position),
  );
}

export function ids(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** Builds a lead that the client creates now. */
export function aNewLead(
  { clock }: LedgerUnderTest,
  id: number,
  fields: Record<string, unknown> = {},
): ListedLead {
  return aListedLead({ id, created_at: clock.now().toISOString(), ...fields });
}

/** Builds a lead that differs from the default in one field. */
export function changedLead(id: number | bigint, client_name: string): ListedLead {
  return aListedLead({ id, client_name });
}
