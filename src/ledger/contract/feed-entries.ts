import type { DeliveryState } from '../../leads/delivery.ts';
import type { Outcome } from '../../leads/outcome.ts';
import type { PollRow } from './status-rows.ts';

/** How far a reader of the change feed has come: row numbers, which only grow. */
export interface FeedCursor {
  /** The last finished poll of each source. */
  readonly polls: Readonly<Record<string, number>>;
  readonly lead: number;
  readonly rejection: number;
  readonly attempt: number;
}

/** What has happened since a cursor. */
export interface FeedPage {
  /** In order of time. */
  readonly entries: readonly FeedEntry[];
  readonly cursor: FeedCursor;
  /** Whether more has happened than this page holds; the reader asks again without waiting. */
  readonly more: boolean;
}

/** Something that has happened; `kind` says what. Contains the text of a lead only where the reader asked for it. */
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
  /** Empty for a new lead. */
  readonly changedFields: readonly string[];
  /** Its content as JSON; set when the reader asked for it. */
  readonly raw: string | undefined;
}

/** An element of a listing did not match the service's schema, for the first time or again after it had been valid. */
export interface RejectionEntry {
  readonly kind: 'rejection';
  readonly at: Date;
  readonly source: string;
  readonly lead: string | undefined;
  readonly path: string;
  readonly reason: string;
}

/** A delivery was attempted. Repeated attempts that fail the same way are one entry. */
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
  /** What the destination answered, which may repeat the lead's text; set when the reader asked for it. */
  readonly answer: string | undefined;
  /** The present state of the delivery. */
  readonly state: DeliveryState;
  readonly nextAttemptAt: Date | undefined;
}

/** An attempt, with what the delivery rate is computed from. */
export interface RecentAttempt {
  readonly sink: string;
  /** When it ended; of repeated attempts that failed the same way, the last. */
  readonly at: Date;
  readonly outcome: Outcome['kind'];
  /** From first seen to delivered, in ms, for a new lead. */
  readonly speedMs: number | undefined;
}
