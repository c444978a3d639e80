import type { Batch, BatchRef, DeliveryState } from '../leads/delivery.ts';
import type { DeliveredLead, HeldState } from '../leads/held.ts';
import type { HistoryRow, Overview } from '../leads/history.ts';
import type { Verdict } from '../leads/judge.ts';
import type { LeadId } from '../leads/lead.ts';
import type { ListedBlock, ListedElement, ListedItem } from '../leads/listed-lead.ts';
import type { ListingMark } from '../leads/listing-mark.ts';
import type { Outcome } from '../leads/outcome.ts';
import type {
  Erased,
  FormerPlace,
  LeadKey,
  Person,
  PersonRecord,
  Subject,
  ToldErasure,
  Unfinished,
} from '../leads/person.ts';
import type { Retained } from '../leads/retention.ts';
import type { SinkHealth } from '../leads/sink-health.ts';
import type { Claimed, ClaimRequest } from './claim.ts';
import type { DeclaredSink, DeclaredSource, LastDeclared } from './declared.ts';
import type { LedgerError } from './ledger-error.ts';
import type { News, NewsMark, RecentAttempt } from './news-entries.ts';
import type {
  Anatomy,
  Backlog,
  DeliveryRow,
  LedgerStatus,
  PolledHours,
  PollId,
  PollRow,
  TraceEntry,
  Upcoming,
  Vitals,
} from './shown.ts';

/** What was recorded of a listing, or of a part of it. */
export interface Recorded {
  readonly listed: number;
  readonly new: number;
  readonly changed: number;
  readonly rejected: number;
}

/** How a poll ended. `partial` means that some of the listing was recorded before it broke off. */
export type PollEnd =
  | { status: 'success'; bytes: number; httpStatus: number; mark: ListingMark | undefined }
  /** A `mark` takes the place of the one that is kept. */
  | { status: 'unchanged'; bytes: number; httpStatus: number; mark?: ListingMark | undefined }
  | { status: 'partial' | 'failed'; httpStatus: number | undefined; error: string };

/** A poll's totals once it has ended. */
export interface PollSummary extends Recorded {
  readonly status: PollEnd['status'];
  /** How many leads the source listed in the last complete poll before this one. */
  readonly listedBefore: number;
  /** Why leads were rejected: the first few different reasons, each with its path. */
  readonly rejectedFor: readonly string[];
}

/** An attempt that has ended. */
export interface Attempt {
  /** One per delivery of the batch, in order. */
  readonly outcomes: readonly Outcome[];
  readonly startedAt: Date;
  readonly durationMs: number;
}

/** What settling an attempt did. */
export interface Settled {
  /** One per delivery, in order. */
  readonly verdicts: readonly Verdict[];
  readonly before: SinkHealth;
  readonly after: SinkHealth;
  /** Refused deliveries that are owed again because the fault was the endpoint's. */
  readonly revived: number;
}

/** Which deliveries a command means. All that are given must hold. */
export interface DeliveryFilter {
  readonly sink?: string | undefined;
  readonly source?: string | undefined;
  readonly lead?: LeadId | undefined;
  readonly delivery?: string | undefined;
  readonly states?: readonly DeliveryState[] | undefined;
  /** Owed at or after, owed before. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** Which leads a replay means. All that are given must hold. */
export interface LeadChoice {
  readonly source?: string | undefined;
  readonly lead?: LeadId | undefined;
  /** At or after, before: when a lead was first seen, or its current content first listed; one of the two is enough. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** How much disk the ledger takes for what is written and not yet in its final place. */
export interface Tidied {
  /** All of it that is on disk; used again for what is written next, once nobody reads an older state. */
  readonly logBytes: number;
  /** What somebody's open query, begun before it was written, keeps out. Grows with every write until that query ends. */
  readonly heldUpBytes: number;
}

/**
 * Which leads were seen, what is owed to whom, and what happened. Everything that must agree is written in one
 * transaction, and a promise that resolves means: on disk. Every method may throw `LedgerError`; then nothing of that
 * call is recorded. Asynchronous so that a ledger on another machine fits behind it.
 */
export interface Ledger {
  /** Names this ledger among others, for ever. Letters and digits. */
  readonly id: string;

  /**
   * Tells which sinks there are now. One that is new (or is back) owes nothing for the past until `backfill` has run;
   * one that is missing keeps its deliveries and is owed nothing more.
   */
  declareSinks(sinks: readonly DeclaredSink[]): Promise<void>;
  /**
   * Owes (or records as skipped) a part of what was listed before a sink was there; call it until `done`. A crash
   * between two calls loses nothing and repeats nothing.
   */
  backfill(sink: string): Promise<{ owed: number; skipped: number; done: boolean }>;

  /** The mark of the last listing of this source that was recorded to its end. */
  listingMark(source: string): Promise<ListingMark | undefined>;
  /** Begins a poll; one of the same source that never ended is marked as failed. */
  startPoll(source: string): Promise<PollId>;
  /**
   * Begins a block of the listing, and notes its leads that are listed with the very content that is known, which writes
   * nothing. Gives the other elements, in order: what they say has to be recorded before the next block begins.
   */
  sift(poll: PollId, block: ListedBlock): Promise<readonly ListedElement[]>;
  /**
   * Records a part of a listing: new and changed leads become seen and owed to every sink that asks for it, in one
   * transaction. A crash keeps both or neither. Elements that are known and unchanged write nothing.
   */
  record(poll: PollId, items: readonly ListedItem[]): Promise<Recorded>;
  /**
   * Ends a poll. The mark of a complete listing is kept in the same transaction. Nothing is ever removed. A complete listing
   * with the very blocks of the last one counts as `unchanged`.
   */
  finishPoll(poll: PollId, end: PollEnd): Promise<PollSummary>;

  /** Takes due deliveries into stored batches under a lease, and renews the lease of batches whose attempt was lost. */
  claim(request: ClaimRequest): Promise<Claimed>;
  /** Batches of the sink under a lease whose attempt has not begun: offering them again harms nothing. */
  waiting(sink: string): Promise<readonly BatchRef[]>;
  /**
   * Starts the one attempt that a lease allows, and gives the batch to attempt; from here the lease lasts `leaseMs`.
   * Undefined when the lease is no longer current, has been used, or everything in the batch is settled: then there is
   * nothing to do. Undefined as well when the sink was paused or held meanwhile: then the batch waits with the others.
   */
  begin(ref: BatchRef, leaseMs: number): Promise<Batch | undefined>;
  /** The processes whose attempts are under way, by the names under which they opened the ledger. */
  holders(): Promise<readonly string[]>;
  /**
   * Records what an attempt came to. Fenced: undefined, and nothing recorded, when the lease is no longer current.
   * Many batches share one commit.
   */
  settle(ref: BatchRef, attempt: Attempt): Promise<Settled | undefined>;
  /**
   * Gives back the lease of an attempt that was cut off before anything was known of its outcome: the batch is due at
   * once, as the same batch, and the attempt does not count as lost. Fenced: false when the lease is not this process's.
   */
  release(ref: BatchRef): Promise<boolean>;
  /** Ends the leases of a process that is known to be dead, so that its batches are due at once. Gives how many. */
  endLeasesOf(holder: string): Promise<number>;
  /** How many batches of a sink are on their way, and whether more could be claimed at this moment. */
  activity(sink: string): Promise<{ readonly onTheirWay: number; readonly due: boolean }>;
  /** Why nothing can be recorded at present: what the last write failed of, until something has been recorded again. */
  failing(): LedgerError | undefined;
  /** True once after another process has written to the ledger. */
  changedElsewhere(): boolean;

  /** Of every sink that there ever was: what it is owed, and how it is. Cheap, for metrics. */
  backlog(): Promise<readonly Backlog[]>;
  /** Of every source and sink that there ever was, also those that are not declared any more. */
  status(): Promise<LedgerStatus>;
  /** What alerts are judged by; of deliveries, how fast they were since `recent`. */
  vitals(recent: Date): Promise<Vitals>;
  /**
   * How many leads were new in each hour of polls: of a thousand polls after one, or from a time on; without the first complete
   * listing and what was before it, since its leads are not new.
   */
  polledHours(source: string, from: PollId | Date): Promise<PolledHours>;
  /** Newest first; `before` is the last delivery of the page before. */
  deliveries(
    filter: DeliveryFilter,
    page: { limit: number; before?: string | undefined },
  ): Promise<readonly DeliveryRow[]>;
  /** How far things have come at this moment: for `news`. */
  newsMark(): Promise<NewsMark>;
  /** What has happened since a mark. `withData`: with leads' contents and destinations' answers, which are personal data. */
  news(since: NewsMark, withData: boolean): Promise<News>;
  /** The last attempts, the latest first. */
  recentAttempts(limit: number): Promise<readonly RecentAttempt[]>;
  /** The last polls of all sources, the latest first. */
  lastPolls(limit: number): Promise<readonly PollRow[]>;
  /** What it is made of; counts every row, which takes a moment where there are millions. */
  anatomy(): Promise<Anatomy>;
  /** Of each source that has a lead of that id: what the sink gets next of it. Holds the lead's content. */
  upcoming(sink: string, lead: LeadId, source?: string): Promise<readonly Upcoming[]>;
  /** In order of time; also of a lead that was only ever set aside. Empty for one that no listing had. */
  trace(lead: LeadId, source?: string): Promise<readonly TraceEntry[]>;

  /**
   * Makes dead or waiting deliveries due now, with a fresh retry schedule. Gives how many. Many are done in parts, so
   * that nobody waits long for the ledger: whoever is killed in the middle has to ask again for the rest.
   */
  retry(filter: DeliveryFilter): Promise<number>;
  /**
   * Owes the current version of leads to a sink once more, as new deliveries that are marked as replays. Gives how many.
   * Many are done in parts; when the process is killed in the middle, `finishReplays` owes the rest, and nothing twice.
   */
  replay(sink: string, leads: LeadChoice): Promise<number>;
  /** Finishes replays whose process was killed in the middle. Gives how many leads these owe in all. */
  finishReplays(): Promise<number>;
  /**
   * The clock was set back by so many ms: pulls what is due in the future back by as much, so that nobody waits for times
   * that come again. Gives how many deliveries that were.
   */
  clockWentBack(byMs: number): Promise<number>;
  /** Brings what was written to its final place, as far as nobody still reads an older state of the ledger. */
  tidy(): Promise<Tidied>;
  /** How far the clock had come when a poll last began, or `clockWentBack` was last told: what is due was reckoned by it. */
  clockAt(): Promise<Date>;
  /** Keeps where the leads of a source come from, unless something is kept already. Gives what is kept. */
  keepOrigin(source: string, origin: string): Promise<string>;
  /** Whatever its next poll says is kept then. False when there is no such source. */
  forgetOrigin(source: string): Promise<boolean>;
  /** Tells which sources there are, and how they are configured. */
  declareSources(sources: readonly DeclaredSource[]): Promise<void>;
  /** What was last declared, by which it is told what another configuration would change. */
  lastDeclared(): Promise<LastDeclared>;
  /**
   * Skips what a sink is owed that is no longer declared, for good; what is on its way is left alone. Gives how many deliveries
   * that were, or undefined when there is no such sink or it is declared.
   */
  forget(sink: string): Promise<number | undefined>;
  /** Whether the file that was opened is no longer the one under its name: it was removed, or another was put there. */
  isReplaced(): boolean;
  /**
   * Gives leads the keys of their clients, some at a time; call it until it gives true. Without a secret, or with another one
   * than before, the keys that there are go.
   */
  keyClients(secret: string | undefined): Promise<boolean>;
  /**
   * Rows of a table that is mirrored (store/mirrored.ts) with greater numbers, in order, at most `limit`; fewer where they are
   * large, and none only when there is none.
   */
  historyAfter(table: string, no: number, limit: number): Promise<readonly HistoryRow[]>;
  /** Rows of such a table as they are now, by their numbers, in order; where they are large, the first of them. */
  historyNow(table: string, numbers: readonly number[]): Promise<readonly HistoryRow[]>;
  /** How sinks and sources are at present. */
  overview(): Promise<Overview>;
  /**
   * Removes one part of what is older than `before`: the content of leads or of their earlier versions, attempts, or what was set
   * aside. Goes on with what it gives as `next` until there is none. No id is forgotten, and no content that is still owed.
   */
  removeOld(
    kind: Retained,
    before: Date,
    after: number,
  ): Promise<{ readonly removed: number; readonly next: number | undefined }>;
  /** What is known of leads that a sink holds, in order. */
  heldStates(sink: string, leads: readonly LeadKey[]): Promise<readonly HeldState[]>;
  /** The next leads behind one, by their numbers, with what was delivered to the sink but for that time; none when it was the last. */
  deliveredLeads(
    sink: string,
    butFor: { readonly from: Date; readonly to: Date },
    after: number,
    limit: number,
  ): Promise<readonly DeliveredLead[]>;
  /** What there is of a person, in every content that leads have had and in what was set aside. Reads every text, in parts. */
  findPerson(subject: Subject, source?: string): Promise<Person>;
  /** Everything that is held of a person, row by row. */
  personRecord(person: Person): Promise<PersonRecord>;
  /**
   * Removes the content of leads and of what was set aside, for good, and what they are owed: a lead keeps its id and hash, so
   * that no poll brings it back, with another content neither. Those sinks of `tell` that got a lead, or may have, are owed a
   * delivery of the event `erased` instead, once. What is being attempted is left to its end, and counted. Whom it takes
   * is noted first, then each lead is one transaction; erasing again does what is left.
   */
  erase(person: Person, tell: readonly string[]): Promise<Erased>;
  /** How far the sinks that may have leads have been told that they are erased. */
  toldErasure(leads: readonly LeadKey[]): Promise<readonly ToldErasure[]>;
  /** Where sinks have brought some of these leads, before they were configured to bring them elsewhere. */
  formerPlaces(leads: readonly LeadKey[]): Promise<readonly FormerPlace[]>;
  /** Leads that were erased, until `finishErasing` tells that every place was reached: whoever was killed in between is gone on for. */
  unfinishedErasures(): Promise<readonly Unfinished[]>;
  /** Every place was reached: these erasures are done. */
  finishErasing(leads: readonly LeadKey[]): Promise<void>;
  /** Brings what was overwritten to the disk. False while somebody reads an older state of the ledger: then its log still holds it. */
  scrub(): Promise<boolean>;
  /** Lets nothing go out to a sink until it is resumed. False when there is no such sink. */
  pause(sink: string, reason: string): Promise<boolean>;
  /** Ends a pause, and a hold as well: what waits is tried now. False when there is no such sink. */
  resume(sink: string): Promise<boolean>;

  /** Frees the file; no method may be called after it. */
  close(): Promise<void>;
}
