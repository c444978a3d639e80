import type { Delivery, DeliveryState } from '../../leads/delivery.ts';
import type { LeadId } from '../../leads/lead.ts';
import type { DeliveredLead, LeadAtSink } from '../../leads/lead-at-sink.ts';
import type { LeadKey } from '../../leads/person.ts';
import type { FeedCursor, FeedPage, RecentAttempt } from './feed-entries.ts';
import type { FoundLeads, PersonSearch, RejectedSearch, RejectedText, StoredRejection } from './page-rows.ts';
import type { ActivityRequest, FailureReasons, SinkActivity } from './sink-activity.ts';
import type {
  Backlog,
  DatabaseStats,
  DeliveryRow,
  LedgerStatus,
  PolledHours,
  PollId,
  PollRow,
  TraceEntry,
  Upcoming,
  Vitals,
} from './status-rows.ts';

/** A state to select by. A `discarded` delivery is skipped: it was dead until an operator discarded it. */
export type SelectedState = DeliveryState | 'discarded';

/** Maximum number of attempts that are searched, newest first, for those that sent a batch. */
export const MAX_SEARCHED_FOR_BATCH = 20_000;

/** Conditions on how a delivery went. A delivery matches if it meets every given condition. */
export interface ResultFilter {
  readonly states?: readonly SelectedState[] | undefined;
  /**
   * A part of the delivery's reason; case does not matter. Three digits match the HTTP status of the delivery's last attempt or, if the ledger
   * has no attempt of the delivery, a part of the reason.
   */
  readonly reason?: string | undefined;
  /** Delivered at or after `deliveredSince`, and before `deliveredUntil`. */
  readonly deliveredSince?: Date | undefined;
  readonly deliveredUntil?: Date | undefined;
}

/** Ids of leads and of deliveries. */
export interface SelectedIds {
  readonly leads: readonly LeadId[];
  readonly deliveries: readonly string[];
}

/** A filter for deliveries. A delivery matches if it meets every given condition. */
export interface DeliveryFilter extends ResultFilter {
  readonly sink?: string | undefined;
  readonly source?: string | undefined;
  readonly lead?: LeadId | undefined;
  readonly delivery?: string | undefined;
  /**
   * The id under which the delivery was sent to a receiver: its own id, also one that it had before another mapping, or that of a batch. A batch is
   * found among the last 20,000 attempts, if its deliveries still have the ids that they had then.
   */
  readonly webhookId?: string | undefined;
  /** Owed at or after `since`, and before `until`. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** A filter for the deliveries that an action changes. It may name deliveries or leads by id. */
export interface ActionFilter extends DeliveryFilter {
  /** The delivery, or its lead, is one of these. */
  readonly ids?: SelectedIds | undefined;
}

/** The queries on the ledger, for status, history, mirrors and `reconcile`. */
export interface LedgerQueries {
  /** Returns the backlog and health of every sink that has ever been configured. Cheap enough for metrics. */
  backlog(): Promise<readonly Backlog[]>;
  /** Returns the status of every source and sink that has ever been configured. */
  status(): Promise<LedgerStatus>;
  /** Returns the activity of a sink in a period; undefined if the ledger does not know the sink. */
  sinkActivity(sink: string, request: ActivityRequest): Promise<SinkActivity | undefined>;
  /** Returns why deliveries are dead or failed, over all sinks. Reads a limited number of deliveries. */
  failureReasons(): Promise<FailureReasons>;
  /** Returns one page of deliveries, newest first. `before` is the id of the last delivery of the previous page. */
  deliveries(
    filter: DeliveryFilter,
    page: { limit: number; before?: string | undefined },
  ): Promise<readonly DeliveryRow[]>;
  /** Returns how many deliveries of a sink are due and in no batch. Stops at `most`. */
  countDue(sink: string, now: Date, most: number): Promise<number>;
  /** Returns the history of a lead in chronological order, even if it was rejected in every listing. Empty if the lead was never listed. */
  trace(lead: LeadId, source?: string): Promise<readonly TraceEntry[]>;
  /**
   * Finds leads by a part of the client's name, email address or phone number, in every stored version. Each call reads a limited number of
   * versions, so an answer without rows may have a `next`.
   */
  findLeads(search: PersonSearch, limit: number): Promise<FoundLeads>;
  /**
   * Returns one page of rejected leads, without their text, newest first. `before` is the `next` of the previous page. Reads a limited number
   * of rows, so a page that is not full may have a `next`.
   */
  rejected(
    search: RejectedSearch,
    page: { limit: number; before?: number | undefined },
  ): Promise<{ readonly rows: readonly StoredRejection[]; readonly next: number | undefined }>;
  /** Returns the text of a rejected lead, which is personal data; undefined if no rejected lead has this id. */
  rejectedText(rejected: number): Promise<RejectedText | undefined>;
  /** Returns the inputs of alerts. Measures delivery times only for leads that are new since `recent`. */
  vitals(recent: Date): Promise<Vitals>;
  /**
   * Counts the new leads of each hour in up to a thousand polls after a given poll or time. Leaves out polls up to and including the first
   * complete listing, whose leads do not count as new.
   */
  polledHours(source: string, from: PollId | Date): Promise<PolledHours>;
  /**
   * Returns, for each source that has a lead with that id, the next delivery of the lead to the sink, including the lead's content. Leaves
   * out a lead without content, unless the sink has a delivery of the event `erased` for it.
   */
  upcoming(sink: string, lead: LeadId, source?: string): Promise<readonly Upcoming[]>;
  /**
   * Returns the current versions that were recorded last, newest first. Each has the form of a delivery of the event `created`, but the ledger
   * contains no such delivery. Leaves out leads without content, and leads of more than 1 MB.
   */
  newestContents(limit: number): Promise<readonly Delivery[]>;
  /** Returns the number of a sink's pending deliveries that keep the mapping of an earlier attempt, because they were sent with it. */
  sentPending(sink: string): Promise<number>;
  /** Returns the cursor at the end of the change feed. From this cursor, `feed` returns only later events. */
  feedCursor(): Promise<FeedCursor>;
  /**
   * Returns the events after a cursor. `withData` adds the content of leads and the answers from destinations, which are personal data.
   * @throws LedgerError `replaced` if the cursor belongs to another ledger, or to an earlier history of this one
   */
  feed(since: FeedCursor, withData: boolean): Promise<FeedPage>;
  /** Returns the last attempts, newest first. */
  recentAttempts(limit: number): Promise<readonly RecentAttempt[]>;
  /** Returns the last polls of all sources, newest first. */
  lastPolls(limit: number): Promise<readonly PollRow[]>;
  /** Returns version, sizes and row counts. Counts every row, which takes seconds for millions of rows. */
  databaseStats(): Promise<DatabaseStats>;
  /** Returns the ledger's facts about leads that a destination stores, in the order given. */
  leadsAtSink(sink: string, leads: readonly LeadKey[]): Promise<readonly LeadAtSink[]>;
  /**
   * Returns up to `limit` leads that are not erased and have numbers above `after`. Each lead has the newest version that was delivered to
   * the sink outside the period `except`, if there is one. Returns an empty list at the end.
   */
  deliveredLeads(
    sink: string,
    except: { readonly from: Date; readonly to: Date },
    after: number,
    limit: number,
  ): Promise<readonly DeliveredLead[]>;
}
