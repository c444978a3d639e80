import type { Batch } from '../../../src/leads/delivery.ts';
import type { ListedItem } from '../../../src/leads/listed-lead.ts';
import type { ListingMarker } from '../../../src/leads/listing-marker.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import type { AttemptUnderWay, Preview, Sink, TestResult } from '../../../src/sinks/sink.ts';
import type { ChangedListing, Listing, Source } from '../../../src/source/contract/source.ts';
import type { Event, EventOf, EventType } from '../../../src/telemetry/events.ts';
import { aListedLead, blockOf } from '../../support/scene/a-lead.ts';

/** A sink whose answers the test gives; it keeps every attempt. */
export class ScriptedSink implements Sink {
  /** The ids of the leads of each attempt, oldest first. */
  readonly attempts: bigint[][] = [];
  readonly batches: Batch[] = [];
  aborted = 0;
  /** What it does with an attempt: delivers, unless the test says otherwise. */
  answer: (
    batch: Batch,
    signal: AbortSignal,
    attempt: AttemptUnderWay,
  ) => Promise<readonly Outcome[]> | readonly Outcome[] = delivering;

  async check(): Promise<void> {}

  async deliver(batch: Batch, signal: AbortSignal, attempt: AttemptUnderWay): Promise<readonly Outcome[]> {
    this.batches.push(batch);
    this.attempts.push(batch.deliveries.map((delivery) => delivery.leadId));
    signal.addEventListener('abort', () => {
      this.aborted += 1;
    });
    return this.answer(batch, signal, attempt);
  }

  async test(): Promise<TestResult> {
    return { arrived: true, what: 'It took it.' };
  }

  preview(): readonly Preview[] {
    return [];
  }

  async close(): Promise<void> {}
}

/** Answers the same for every lead of a batch. */
export function always(outcome: Outcome): (batch: Batch) => readonly Outcome[] {
  return (batch) => batch.deliveries.map(() => outcome);
}

export const delivering = always({ kind: 'delivered' });
export const failing = always({ kind: 'unavailable', reason: 'It is down.', httpStatus: 503 });
export const refusing = always({ kind: 'refused', reason: 'It says no.', httpStatus: 422 });
/** Never ends, not even when it is aborted. */
export const hanging = (): Promise<readonly Outcome[]> => new Promise(() => undefined);

/** A service whose listing the test gives. */
export class ScriptedSource implements Source {
  readonly name = 'main';
  origin = 'leads.example.com/api/v1/leads';
  /** When it was asked, by the clock. */
  readonly asked: number[] = [];
  marks: (ListingMarker | undefined)[] = [];
  most = 0;
  #underWay = 0;
  readonly #nowMs: () => number;
  /** What it does when asked: lists these leads, in blocks of two. May throw. */
  answer: (signal: AbortSignal) => Promise<Listing> | Listing = () => listingOf([]);

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  async list(previous: ListingMarker | undefined, signal: AbortSignal): Promise<Listing> {
    this.asked.push(this.#nowMs());
    this.marks.push(previous);
    this.#underWay += 1;
    this.most = Math.max(this.most, this.#underWay);
    try {
      return await this.answer(signal);
    } finally {
      this.#underWay -= 1;
    }
  }

  /** The waits between the polls so far, in ms. */
  get waits(): number[] {
    return this.asked.slice(1).map((at, index) => at - (this.asked[index] ?? 0));
  }

  /** The time of the last login. */
  loggedInAt: Date | undefined;

  async lastLoginAt(): Promise<Date | undefined> {
    return this.loggedInAt;
  }

  tokenExpiresAt(): undefined {
    return undefined;
  }

  async close(): Promise<void> {}
}

const mark: ListingMarker = { url: 'https://x/leads', etag: '"1"' };

/** A listing in blocks of two; `breaks` is thrown after its last element. */
export function listingOf(leads: readonly (number | ListedItem)[], breaks?: Error): ChangedListing {
  const items = leads.map((lead, position) =>
    typeof lead === 'number' ? aListedLead({ id: lead }, position) : { ...lead, position },
  );
  async function* blocks() {
    for (let start = 0; start < items.length; start += 2) yield blockOf(items.slice(start, start + 2));
    if (breaks) throw breaks;
  }
  return { kind: 'changed', httpStatus: 200, blocks: blocks(), end: () => ({ bytes: 100, mark }) };
}

/** Keeps what was reported. */
export class Reported {
  readonly events: Event[] = [];
  readonly emit = (event: Event): void => void this.events.push(event);

  of<Type extends EventType>(type: Type): EventOf<Type>[] {
    return this.events.filter((event): event is EventOf<Type> => event.type === type);
  }
}
