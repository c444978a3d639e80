import type { DeliveryState } from '../../leads/delivery.ts';
import type { DeliveredLead, HeldState } from '../../leads/held.ts';
import type { HistoryText, Overview } from '../../leads/history.ts';
import type { LeadId } from '../../leads/lead.ts';
import type { LeadKey } from '../../leads/person.ts';
import type { FeedCursor, FeedPage, RecentAttempt } from './feed-entries.ts';
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

/** What is asked to know: how things are, what has happened, and what a mirror or a comparison needs. Changes nothing. */
export interface LedgerAsking {
  /** Of every sink that there ever was: what it is owed, and how it is. Cheap, for metrics. */
  backlog(): Promise<readonly Backlog[]>;
  /** Of every source and sink that there ever was, also those that are not declared any more. */
  status(): Promise<LedgerStatus>;
  /** Newest first; `before` is the last delivery of the page before. */
  deliveries(
    filter: DeliveryFilter,
    page: { limit: number; before?: string | undefined },
  ): Promise<readonly DeliveryRow[]>;
  /** In order of time; also of a lead that was only ever set aside. Empty for one that no listing had. */
  trace(lead: LeadId, source?: string): Promise<readonly TraceEntry[]>;
  /** What alerts are judged by; of deliveries, how fast they were since `recent`. */
  vitals(recent: Date): Promise<Vitals>;
  /**
   * How many leads were new in each hour of polls: of a thousand polls after one, or from a time on; without the first complete
   * listing and what was before it, since its leads are not new.
   */
  polledHours(source: string, from: PollId | Date): Promise<PolledHours>;
  /** Of each source that has a lead of that id: what the sink gets next of it. Holds the lead's content. */
  upcoming(sink: string, lead: LeadId, source?: string): Promise<readonly Upcoming[]>;
  /** How far things have come at this moment: for `news`. */
  feedCursor(): Promise<FeedCursor>;
  /** What has happened since a mark. `withData`: with leads' contents and destinations' answers, which are personal data. */
  feed(since: FeedCursor, withData: boolean): Promise<FeedPage>;
  /** The last attempts, the latest first. */
  recentAttempts(limit: number): Promise<readonly RecentAttempt[]>;
  /** The last polls of all sources, the latest first. */
  lastPolls(limit: number): Promise<readonly PollRow[]>;
  /** What it is made of; counts every row, which takes a moment where there are millions. */
  databaseStats(): Promise<DatabaseStats>;
  /**
   * Rows of a table that is mirrored (catalog/mirrored.ts) with greater numbers, in order, at most `limit`; fewer where they are
   * large, and none only when there is none.
   */
  historyAfter(table: string, no: number, limit: number): Promise<HistoryText>;
  /** Rows of such a table as they are now, by their numbers, in order; where they are large, the first of them. */
  historyNow(table: string, numbers: readonly number[]): Promise<HistoryText>;
  /** How sinks and sources are at present. */
  overview(): Promise<Overview>;
  /** What is known of leads that a sink holds, in order. */
  heldStates(sink: string, leads: readonly LeadKey[]): Promise<readonly HeldState[]>;
  /** The next leads behind one, by their numbers, with what was delivered to the sink but for that time; none when it was the last. */
  deliveredLeads(
    sink: string,
    butFor: { readonly from: Date; readonly to: Date },
    after: number,
    limit: number,
  ): Promise<readonly DeliveredLead[]>;
}
