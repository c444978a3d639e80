import type { DeliveryState } from '../../leads/delivery.ts';
import type { Outcome } from '../../leads/outcome.ts';
import type { PollRow } from './status-rows.ts';

/** A position in the change feed, as row numbers. Row numbers only increase. */
export interface FeedCursor {
  /** The last finished poll of each source. */
  readonly polls: Readonly<Record<string, number>>;
  readonly lead: number;
  readonly rejection: number;
  readonly attempt: number;
  /** For an engine that commits attempts in another order than that of their numbers: the transactions whose attempts the reader has seen. */
  readonly seen?: string | undefined;
  /** The transactions that are being read, if their attempts take several pages. `attempt` is then the last of them that was read. */
  readonly reading?: string | undefined;
  /** For an engine whose server may lose commits and issue row numbers again: the ledger, and the part of its history, to which the numbers belong. */
  readonly ledger?: string | undefined;
}

/** A page of the change feed. */
export interface FeedPage {
  /** In chronological order. */
  readonly entries: readonly FeedEntry[];
  /** Where the next page begins. */
  readonly cursor: FeedCursor;
  /** Whether more entries may follow this page; the reader then requests the next page immediately. */
  readonly more: boolean;
}

/** An event of the change feed. Contains lead content only if the reader requested it. */
export type FeedEntry = PollEntry | LeadEntry | RejectionEntry | AttemptEntry;

/** A poll finished. */
export interface PollEntry extends Omit<PollRow, 'startedAt' | 'finishedAt'> {
  readonly kind: 'poll';
  readonly at: Date;
}

/** A lead is new, or its content changed. */
export interface LeadEntry {
  readonly kind: 'lead';
  readonly at: Date;
  readonly source: string;
  readonly lead: string;
  readonly version: number;
  /** The top-level fields that changed. Empty for a new lead, and if the previous content had been removed. */
  readonly changedFields: readonly string[];
  /** The content as JSON; undefined unless the reader requested it. */
  readonly raw: string | undefined;
}

/** A lead was rejected for the first time, or again after a listing in which it was valid. */
export interface RejectionEntry {
  readonly kind: 'rejection';
  readonly at: Date;
  readonly source: string;
  readonly lead: string | undefined;
  readonly path: string;
  readonly reason: string;
}

/** A delivery was attempted. Consecutive attempts that fail in the same way share one entry. */
export interface AttemptEntry {
  readonly kind: 'attempt';
  readonly at: Date;
  readonly sink: string;
  readonly source: string;
  readonly lead: string;
  readonly delivery: string;
  readonly outcome: Outcome['kind'];
  readonly durationMs: number;
  readonly httpStatus: number | undefined;
  readonly error: string | undefined;
  /** The destination's answer, which may repeat the lead's text; undefined unless the reader requested it. */
  readonly answer: string | undefined;
  /** The present state of the delivery. */
  readonly state: DeliveryState;
  readonly nextAttemptAt: Date | undefined;
}

/** The facts about an attempt from which the delivery rate is computed. */
export interface RecentAttempt {
  readonly sink: string;
  /** When the attempt ended. For consecutive attempts that failed in the same way, when the last of them ended. */
  readonly at: Date;
  readonly outcome: Outcome['kind'];
  /**
   * Time from when the lead was first seen until it was delivered, in ms. Undefined unless this attempt delivered a new lead (see
   * `Delivery.isNewLead`).
   */
  readonly speedMs: number | undefined;
}
