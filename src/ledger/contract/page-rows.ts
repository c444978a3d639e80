import type { Contact } from '../../leads/find-contact.ts';
import type { LeadId } from '../../leads/lead.ts';
import type { SelectedResult } from '../../leads/poll-result.ts';
import type { DeliveryRow, PollStatus } from './status-rows.ts';

/* Requests and results of the query thread: values that can be passed between threads. */

/** The order of a list, by time. */
export type Order = 'newest' | 'oldest';

/** A page of a list. `next` is the cursor of the next page, or null on the last page. */
export interface Rows<Row> {
  readonly rows: readonly Row[];
  readonly next: string | null;
}

/** A number of rows. `isAtLeast`: counting stopped before the end of the list, so there may be more. */
export interface Count {
  readonly count: number;
  readonly isAtLeast: boolean;
}

/** The requested page of a list. */
export interface Page {
  readonly limit: number;
  /** The `next` of the previous page, which had the same order. */
  readonly after?: string | undefined;
  /** Which rows come first. Absent: the newest. */
  readonly order?: Order | undefined;
}

/** A filter of leads. A lead matches if it meets every given condition. */
export interface LeadSearch {
  readonly source?: string | undefined;
  readonly lead?: LeadId | undefined;
  readonly service?: string | undefined;
  /** Whether the source still lists the lead. `gone` sorts the leads by when each was first missing from a listing. */
  readonly listing?: 'current' | 'gone' | undefined;
  /** Whether every sink to which the lead is or was owed has it. */
  readonly delivered?: 'everywhere' | 'not-everywhere' | undefined;
  /**
   * The period in which the lead was first seen: at or after `since`, and before `until`. With `service`, the period in which it was first
   * seen in that service. With `gone`, the period in which it was first missing from a listing.
   */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** The present state of a lead, without its content. Times are ms since 1970. */
export interface LeadRow {
  readonly source: string;
  readonly lead: string;
  readonly service: string | null;
  readonly version: number;
  /** When the client sent the request; null if the value from the service is not a time. */
  readonly createdAt: number | null;
  readonly firstSeenAt: number;
  readonly changedAt: number;
  /** When a complete listing last contained the lead, and when a complete listing first did not. Both are null while the lead is listed. */
  readonly lastListedAt: number | null;
  readonly goneAt: number | null;
  /** Number of sinks to which the lead is or was owed, except those for which it was skipped. */
  readonly owedSinks: number;
  /** Number of these sinks for which the last delivery of the lead is delivered. */
  readonly deliveredSinks: number;
  /** Number of these sinks for which the last delivery of the lead is dead. */
  readonly deadSinks: number;
}

/** A search for leads by the client. */
export interface PersonSearch {
  /** Words of the client's name or email address, or digits of the phone number: personal data. */
  readonly text: string;
  readonly source?: string | undefined;
  /** Limits the search to versions with lower numbers: `next.before` of the previous answer. */
  readonly before?: number | undefined;
}

/** A lead with the contact that matched: personal data. */
export interface FoundLead extends LeadRow, Contact {
  /** The newest version of the lead that matches. */
  readonly matchedVersion: number;
}

/** Found leads, in the order in which their matching versions were recorded, newest first. */
export interface FoundLeads {
  readonly rows: readonly FoundLead[];
  /** Number of versions that were read for this answer. */
  readonly contents: number;
  /** The cursor of the next answer, and when the last version read for this answer was recorded, in ms since 1970; undefined at the end. */
  readonly next: { readonly before: number; readonly at: number } | undefined;
}

/**
 * A version of a lead, valid from `validFrom`, in ms since 1970. `changedFields` is null for the first version, and if the previous content
 * had been removed.
 */
export interface StoredVersion {
  readonly version: number;
  readonly validFrom: number;
  readonly poll: number;
  readonly changedFields: readonly string[] | null;
}

/** An attempt, or consecutive attempts that failed in the same way. Times are ms since 1970. */
export interface StoredAttempt {
  readonly startedAt: number;
  readonly durationMs: number;
  readonly outcome: string;
  readonly httpStatus: number | null;
  readonly error: string | null;
  readonly times: number;
  readonly lastAt: number | null;
}

/** The content of a version of a lead and of the previous version, and the destinations' answers, newest first. Personal data. */
export interface LeadContent extends StoredVersion {
  readonly raw: string;
  /** Null for the first version. */
  readonly rawBefore: string | null;
  readonly answers: readonly StoredAnswer[];
}

/** A destination's answer to the attempt that began at `startedAt`, in ms since 1970; truncated as stored. */
export interface StoredAnswer {
  readonly delivery: string;
  readonly sink: string;
  readonly startedAt: number;
  readonly outcome: string;
  readonly httpStatus: number | null;
  readonly answer: string;
}

/** The history of a lead: its versions and deliveries, newest first, and the attempts of each delivery, oldest first. */
export interface LeadHistory {
  readonly lead: LeadRow;
  readonly versions: readonly StoredVersion[];
  readonly deliveries: readonly (DeliveryRow & { readonly attemptRows: readonly StoredAttempt[] })[];
}

/** A filter of polls. A poll matches if it meets every given condition. */
export interface PollSearch {
  readonly source?: string | undefined;
  readonly status?: PollStatus | undefined;
  readonly result?: SelectedResult | undefined;
}

/** A poll as stored. Times are ISO 8601 text. */
export interface StoredPoll {
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
  /**
   * Number of leads in the complete listing before the one that this poll read; null for the first complete listing, and if this poll read no
   * new complete listing.
   */
  readonly listed_before: number | null;
  /**
   * Whether the listing that this poll read or confirmed is far smaller than the complete listing before it or, for the present listing, than those of
   * the week before.
   */
  readonly is_shrunk: boolean;
  /** Number of rejected leads in the listing that this poll read or confirmed. */
  readonly listing_rejected: number;
}

/** `resolved`: the lead was recorded later. `gone`: it was not recorded, and the last complete listing no longer contained it. `open`: neither. */
export type RejectionState = 'open' | 'gone' | 'resolved';

/** A filter for rejected leads. */
export interface RejectedSearch {
  readonly source?: string | undefined;
  readonly state?: RejectionState | undefined;
}

/** The rejected leads of a source that have the same fault. */
export interface FaultCount {
  readonly source: string;
  /** The path of the faulty element; `reason` says what is wrong with it. */
  readonly path: string;
  readonly reason: string;
  readonly leads: number;
}

/** The number of rejected leads, and of those with each of up to 100 faults, most frequent first. */
export interface RejectedCount extends Count {
  readonly faults: readonly FaultCount[];
}

/** A rejected lead, without its text. Its columns are those of `rejected_leads`, with the times at which its polls began. */
export interface StoredRejection {
  readonly rejected_id: number;
  readonly source: string;
  /** Null if the lead has no usable id. */
  readonly lead_id: string | null;
  /** The path of the faulty element; `reason` says what is wrong with it. */
  readonly path: string;
  readonly reason: string;
  readonly poll_id: number;
  readonly rejected_at: string;
  readonly last_poll_id: number;
  readonly last_rejected_at: string;
  readonly resolved_at: string | null;
  readonly state: RejectionState;
}

/** The text of a rejected lead: personal data. */
export interface RejectedText extends StoredRejection {
  readonly raw: string;
}

/** How fast leads were delivered to a sink. The percentiles are undefined if there are no measurements. */
export interface Speed {
  readonly sink: string;
  /** The number of leads measured. */
  readonly leads: number;
  readonly seenToDelivered: Percentiles | undefined;
  readonly createdToDelivered: Percentiles | undefined;
}

/** The median and the 95th percentile, in ms. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
}
