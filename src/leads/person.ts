import type { LeadId } from './lead.ts';

/** The subject of a privacy request: the leads with this id, at most one in each source, or every lead with this email address or phone number. */
export type Subject =
  | { readonly kind: 'lead'; readonly lead: LeadId }
  | { readonly kind: 'email' | 'phone'; readonly contact: string };

/** The key of a lead: its source, and its id, which is unique within that source. */
export interface LeadKey {
  readonly source: string;
  readonly leadId: LeadId;
}

/** The key of a rejected lead: its source and the hash of its text. The key is the same in every ledger and mirror. */
export interface RejectedKey {
  readonly source: string;
  readonly hash: string;
}

/** The keys of a person's leads and rejected leads in a store. */
export interface Person {
  readonly leads: readonly LeadKey[];
  readonly rejected: readonly RejectedKey[];
}

/** How many rows an erasure changed in the ledger. */
export interface ErasureCounts {
  readonly versions: number;
  readonly rejected: number;
  /** Attempts whose answer or error was removed. */
  readonly attempts: number;
  /** Pending and dead deliveries that became skipped. */
  readonly skipped: number;
  /** Deliveries that are being attempted now. The erasure must be repeated after these attempts. */
  readonly underWay: number;
}

/** The progress of an erasure at one sink, in numbers of leads. */
export interface SinkErasure {
  readonly sink: string;
  /** Leads that were delivered to the sink, or may have been. */
  readonly had: number;
  /** Leads among `had` that were certainly delivered. */
  readonly certain: number;
  /** Leads whose erasure notice was delivered. */
  readonly told: number;
  /** Leads whose erasure notice is pending. */
  readonly owed: number;
  /** Leads whose erasure notice the sink refused. leadsync does not retry these notices by itself. */
  readonly refused: number;
  /** Whether the sink is paused, in which case notices wait for an operator. */
  readonly paused: boolean;
}

/** A destination that a sink delivered to before the sink's configuration changed. */
export interface FormerDestination {
  readonly sink: string;
  readonly place: string;
  readonly until: Date;
  /** Number of leads that were delivered there, or may have been. */
  readonly had: number;
}

/** An erased lead whose erasure has not reached every destination. */
export interface UnfinishedErasure extends LeadKey {
  readonly erasedAt: Date;
}

/** All stored data of a person: rows by table, values by column. Personal data. */
export type PersonRecord = Readonly<Record<string, readonly Readonly<Record<string, PersonValue>>[]>>;

/** A value of a row in a `PersonRecord`. A JSON column has an array or object. */
export type PersonValue = string | number | null | object;
