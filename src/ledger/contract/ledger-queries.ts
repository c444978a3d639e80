import type { DeliveryState } from '../../leads/delivery.ts';
import type { HistoryText, Overview } from '../../leads/history.ts';
import type { LeadId } from '../../leads/lead.ts';
import type { DeliveredLead, LeadAtSink } from '../../leads/lead-at-sink.ts';
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

/** A filter of deliveries. A delivery matches if it meets every given condition. */
export interface DeliveryFilter {
  readonly sink?: string | undefined;
  readonly source?: string | undefined;
  readonly lead?: LeadId | undefined;
  readonly delivery?: string | undefined;
  readonly states?: readonly DeliveryState[] | undefined;
  /** Owed at or after `since`, and before `until`. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** The queries of the ledger: status, history, and what mirrors and `reconcile` need. */
export interface LedgerQueries {
  /** Returns the backlog and health of every sink that was ever configured. Cheap enough for metrics. */
  backlog(): Promise<readonly Backlog[]>;
  /** Returns the status of every source and sink that was ever configured. */
  status(): Promise<LedgerStatus>;
  /** Returns deliveries, newest first; `before` is the last delivery of the page before. */
  deliveries(
    filter: DeliveryFilter,
    page: { limit: number; before?: string | undefined },
  ): Promise<readonly DeliveryRow[]>;
  /** Returns the history of a lead in order of time, even if it was only ever rejected. Empty for a lead that was never listed. */
  trace(lead: LeadId, source?: string): Promise<readonly TraceEntry[]>;
  /** Returns the inputs of alerts. Delivery times are those of leads that are new since `recent`. */
  vitals(recent: Date): Promise<Vitals>;
  /**
   * Returns how many leads were new in each hour, from up to a thousand polls after a given poll or time. Leaves out everything up
   * to the first complete listing, whose leads are not new.
   */
  polledHours(source: string, from: PollId | Date): Promise<PolledHours>;
  /** Returns, for each source that has a lead of that id, its next delivery to the sink. Contains the lead's content. */
  upcoming(sink: string, lead: LeadId, source?: string): Promise<readonly Upcoming[]>;
  /** Returns the cursor at the end of the change feed: `feed` then returns only later events. */
  feedCursor(): Promise<FeedCursor>;
  /** Returns the events after a cursor. `withData` adds leads' contents and destinations' answers, which are personal data. */
  feed(since: FeedCursor, withData: boolean): Promise<FeedPage>;
  /** Returns the last attempts, newest first. */
  recentAttempts(limit: number): Promise<readonly RecentAttempt[]>;
  /** Returns the last polls of all sources, newest first. */
  lastPolls(limit: number): Promise<readonly PollRow[]>;
  /** Returns version, sizes and row counts. Counts every row, which takes seconds if there are millions. */
  databaseStats(): Promise<DatabaseStats>;
  /**
   * Returns up to `limit` rows of a mirrored table (catalog/mirrored.ts) with numbers above `no`, in order. Returns fewer if rows
   * are large, and none only at the end of the table.
   */
  historyAfter(table: string, no: number, limit: number): Promise<HistoryText>;
  /** Returns the present rows of a mirrored table by their numbers, in order; only the first of them if they are large. */
  historyNow(table: string, numbers: readonly number[]): Promise<HistoryText>;
  /** Returns the present state of sinks and sources. */
  overview(): Promise<Overview>;
  /** Returns, in the given order, the ledger's state of leads that a destination holds. */
  leadsAtSink(sink: string, leads: readonly LeadKey[]): Promise<readonly LeadAtSink[]>;
  /**
   * Returns up to `limit` leads that are not erased, numbered above `after`, each with the newest version that was delivered to the sink
   * outside the period `except`, if any. Empty at the end.
   */
  deliveredLeads(
    sink: string,
    except: { readonly from: Date; readonly to: Date },
    after: number,
    limit: number,
  ): Promise<readonly DeliveredLead[]>;
}
