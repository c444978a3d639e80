import type { DeliveryState } from '../../leads/delivery.ts';
import type { Outcome } from '../../leads/outcome.ts';
import type { PollRow } from './shown.ts';

/** How far somebody has read what happened: numbers of rows, which only grow. */
export interface NewsMark {
  /** The last poll of each source that has ended. */
  readonly polls: Readonly<Record<string, number>>;
  readonly lead: number;
  readonly rejection: number;
  readonly attempt: number;
}

/** What has happened since a mark. */
export interface News {
  /** In order of time. */
  readonly entries: readonly NewsEntry[];
  readonly mark: NewsMark;
  /** There is more: ask again at once. */
  readonly more: boolean;
}

/** Something that has happened; `kind` says what. A lead's text is in it only where that was asked for. */
export type NewsEntry = PollNews | LeadNews | RejectionNews | AttemptNews;

/** A poll has ended. */
export interface PollNews extends Omit<PollRow, 'startedAt' | 'finishedAt'> {
  readonly kind: 'poll';
  readonly at: Date;
}

/** A lead is new, or has another content. */
export interface LeadNews {
  readonly kind: 'lead';
  readonly at: Date;
  readonly source: string;
  readonly lead: string;
  readonly version: number;
  /** Empty for a new one. */
  readonly changedFields: readonly string[];
  /** Its content: set when it was asked for. */
  readonly raw: string | undefined;
}

/** An element of a listing broke the service's description: for the first time, or again after it had come right. */
export interface RejectionNews {
  readonly kind: 'rejection';
  readonly at: Date;
  readonly source: string;
  readonly lead: string | undefined;
  readonly path: string;
  readonly reason: string;
}

/** A delivery was attempted. What fails alike again and again is told once. */
export interface AttemptNews {
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
  /** What the destination answered; may repeat the lead's text: set when it was asked for. */
  readonly answer: string | undefined;
  /** As the delivery is now. */
  readonly state: DeliveryState;
  readonly nextAttemptAt: Date | undefined;
}

/** An attempt, as far as the pace of deliveries goes. */
export interface RecentAttempt {
  readonly sink: string;
  /** When it ended, or the last of those that failed alike. */
  readonly at: Date;
  readonly outcome: Outcome['kind'];
  /** From when a new lead was first seen until it was delivered, in ms. */
  readonly speedMs: number | undefined;
}
