/* What the ledger tells of itself: for status, pages and commands. */

import type { Delivery, DeliveryState, LeadEvent } from '../../leads/delivery.ts';
import type { ListingSize } from '../../leads/listing-fall.ts';
import type { SinkHealth } from '../../leads/sink-health.ts';

/** Identifies a poll in this ledger; grows with time. */
export type PollId = number;

/** A delivery as it is shown to people; holds none of the lead's text. */
export interface DeliveryRow {
  readonly delivery: string;
  readonly source: string;
  readonly lead: string;
  readonly version: number;
  readonly event: LeadEvent;
  readonly sink: string;
  readonly state: DeliveryState;
  readonly reason: string | undefined;
  readonly attempts: number;
  readonly replay: boolean;
  readonly owedAt: Date;
  readonly nextAttemptAt: Date | undefined;
  readonly settledAt: Date | undefined;
}

/** What the ledger knows of a source. */
export interface SourceStatus {
  readonly source: string;
  readonly leads: number;
  readonly listed: number;
  /** Elements of the last complete listing that broke the service's description. */
  readonly rejected: number;
  /** The most leads that a complete listing had in the last week. */
  readonly listedLately: number;
  readonly lastPoll: PollRow | undefined;
  readonly lastSuccessAt: Date | undefined;
}

/** How a poll ended, or that it has not. */
export const POLL_STATUSES = ['running', 'success', 'unchanged', 'partial', 'failed'] as const;
/**
 * `unchanged` found the last listing again; `partial` broke off after some of the listing was read, `failed` before.
 */
export type PollStatus = (typeof POLL_STATUSES)[number];

/** A poll as it is shown to people. */
export interface PollRow {
  readonly poll: PollId;
  readonly source: string;
  readonly startedAt: Date;
  readonly finishedAt: Date | undefined;
  readonly status: PollStatus;
  readonly listed: number;
  readonly new: number;
  readonly changed: number;
  readonly rejected: number;
  readonly error: string | undefined;
}

/** What a sink is owed, and how it is; cheap to ask for. */
export interface Backlog {
  readonly sink: string;
  readonly pending: number;
  readonly dead: number;
  /** When the oldest pending delivery was owed. */
  readonly oldestOwedAt: Date | undefined;
  readonly health: SinkHealth;
  /** False for a sink that the configuration no longer has; its pending deliveries are kept. */
  readonly active: boolean;
}

/** What the ledger knows of a sink. */
export interface SinkStatus extends Backlog {
  readonly delivered: number;
  readonly skipped: number;
  /** When the longest due of the pending deliveries became due, or the first of them will; undefined when none is pending. */
  readonly dueSince: Date | undefined;
  /** Pending deliveries whose last attempt failed; undefined when there is none. */
  readonly retrying: Retrying | undefined;
}

/** Deliveries that failed and will be tried again. */
export interface Retrying {
  readonly deliveries: number;
  /** When the first attempt of the one that has failed for longest was made. */
  readonly since: Date;
  /** Why the one that is tried next failed the last time. */
  readonly reason: string;
  /** When the first of them is tried again. */
  readonly nextAttemptAt: Date;
}

/** What alerts are judged by; cheap to ask for, however much the ledger holds. */
export interface Vitals {
  readonly sources: readonly (ListingSize & {
    readonly source: string;
    readonly lastSuccessAt: Date | undefined;
  })[];
  readonly sinks: readonly (Backlog & {
    /** When the delivery was given up that was given up last, of those that are dead now. */
    readonly lastDeadAt: Date | undefined;
    /** Owed → delivered, in ms, of leads that were new since `recent` and owed when they were first seen; of the last few thousand. */
    readonly recentMs: readonly number[];
  })[];
}

/** What some polls of a source found, that came to their end. */
export interface PolledHours {
  readonly hours: readonly { readonly hour: Date; readonly leads: number }[];
  /** When the last of them began that found a new lead. */
  readonly lastNewAt: Date | undefined;
  /** When the last of them began that read the listing to its end. */
  readonly until: Date | undefined;
  /** To ask for those after them; undefined when there were none. */
  readonly through: PollId | undefined;
}

/** Every source and sink that there ever was. */
export interface LedgerStatus {
  readonly sources: readonly SourceStatus[];
  readonly sinks: readonly SinkStatus[];
  /** When the ledger was found to be a copy, or restored from one; undefined when it never was. */
  readonly restoredAt: Date | undefined;
}

/** What a sink gets next of a lead: what it is owed, else what it got last; what it would be owed where there is neither. */
export interface Upcoming {
  readonly delivery: Delivery;
  /** Undefined where it was never owed. */
  readonly state: DeliveryState | undefined;
  readonly reason: string | undefined;
  readonly settledAt: Date | undefined;
}

/** What a ledger is made of. */
export interface Anatomy {
  /** The version of SQLite. */
  readonly sqlite: string;
  /** How many steps of its schema were taken. */
  readonly shape: number;
  readonly bytes: number;
  /** Of these, what is used again for what is written next. */
  readonly freeBytes: number;
  /** How many rows each table has. */
  readonly rows: Readonly<Record<string, number>>;
  readonly schema: readonly string[];
}

/** One thing that happened to a lead. */
export interface TraceEntry {
  readonly at: Date;
  readonly what: string;
  readonly sink: string | undefined;
  readonly delivery: string | undefined;
  readonly detail: string | undefined;
  /** What a destination answered. May repeat the lead's text: shown only when asked for. */
  readonly answer: string | undefined;
}
