import type { LeadId } from '../../leads/lead.ts';
import type { DeliveryRow, PollStatus } from './shown.ts';

/* What a `LedgerReader` is asked and answers, as values that can go from thread to thread. */

/** Rows of a list, newest first; the list goes on after `next`, which is null at its end. */
export interface Rows<Row> {
  readonly rows: readonly Row[];
  readonly next: string | null;
}

/** Which rows of a list. */
export interface Page {
  readonly limit: number;
  /** The `next` of the page before. */
  readonly after?: string | undefined;
}

/** Which leads are looked for. All that are given must hold. */
export interface LeadSearch {
  readonly source?: string | undefined;
  readonly lead?: LeadId | undefined;
  readonly service?: string | undefined;
  /** Whether the source still lists them. `gone`: those that vanished last come first. */
  readonly listing?: 'current' | 'gone' | undefined;
  /** First seen at or after, and before; with a service: first seen in that service; of leads that are gone: when they vanished. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** A lead as it is now, without its content. Times are ms since 1970. */
export interface LeadRow {
  readonly source: string;
  readonly lead: string;
  readonly service: string | null;
  readonly version: number;
  /** When the client asked; null where the text does not tell. */
  readonly createdAt: number | null;
  readonly firstSeenAt: number;
  readonly changedAt: number;
  /** When a complete listing last had the lead, and when one was first without it; null while it is listed. */
  readonly lastListedAt: number | null;
  readonly goneAt: number | null;
}

/** One content that a lead has had, from `validFrom` on, in ms since 1970; the first has no changed fields. */
export interface KeptVersion {
  readonly version: number;
  readonly validFrom: number;
  readonly poll: number;
  readonly changedFields: readonly string[] | null;
}

/** One attempt, or several that failed alike one after another. Times are ms since 1970. */
export interface KeptAttempt {
  readonly startedAt: number;
  readonly durationMs: number;
  readonly outcome: string;
  readonly httpStatus: number | null;
  readonly error: string | null;
  readonly times: number;
  readonly lastAt: number | null;
}

/** What a lead says in one of its versions, what the version before said, and what destinations answered to it, the newest first: personal data. */
export interface LeadContent extends KeptVersion {
  readonly raw: string;
  /** Null for the first version. */
  readonly rawBefore: string | null;
  readonly answers: readonly KeptAnswer[];
}

/** What a destination answered to an attempt that began at `startedAt`, in ms since 1970; as much as is kept of it. */
export interface KeptAnswer {
  readonly delivery: string;
  readonly sink: string;
  readonly startedAt: number;
  readonly outcome: string;
  readonly httpStatus: number | null;
  readonly answer: string;
}

/** What became of one lead: its versions and deliveries, the newest first, and each delivery's attempts, the oldest first. */
export interface LeadHistory {
  readonly lead: LeadRow;
  readonly versions: readonly KeptVersion[];
  readonly deliveries: readonly (DeliveryRow & { readonly attemptRows: readonly KeptAttempt[] })[];
}

/** A poll as it is kept; times are text. */
export interface KeptPoll {
  readonly poll_id: number;
  readonly source: string;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly status: PollStatus;
  readonly leads_listed: number;
  readonly leads_new: number;
  readonly leads_changed: number;
  readonly leads_rejected: number;
  readonly bytes: number;
  readonly http_status: number | null;
  readonly error: string | null;
}

/** How fast leads arrived at a sink, in ms; undefined where there is nothing to tell from. */
export interface Speed {
  readonly sink: string;
  /** Leads that were measured. */
  readonly leads: number;
  readonly seenToDelivered: Percentiles | undefined;
  readonly createdToDelivered: Percentiles | undefined;
}

/** The median, and what only one in twenty exceeds, in ms. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
}
