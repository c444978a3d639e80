import type { LeadId } from './lead.ts';

/** Whom a request is about: a lead, or everybody with this email address or phone number. */
export type Subject =
  | { readonly kind: 'lead'; readonly lead: LeadId }
  | { readonly kind: 'email' | 'phone'; readonly contact: string };

/** A lead by its name. */
export interface LeadKey {
  readonly source: string;
  readonly leadId: LeadId;
}

/** An element of a listing that was set aside, by its source and the hash of its text: the same in every ledger and mirror. */
export interface RejectedKey {
  readonly source: string;
  readonly hash: string;
}

/** What a store holds of a person: leads, and elements of listings that were set aside. */
export interface Person {
  readonly leads: readonly LeadKey[];
  readonly rejected: readonly RejectedKey[];
}

/** What was taken out of the ledger. */
export interface ErasureCounts {
  readonly versions: number;
  readonly rejected: number;
  /** Attempts whose answer or error was removed. */
  readonly attempts: number;
  /** Deliveries that were pending or dead, and are skipped. */
  readonly skipped: number;
  /** Deliveries that are being attempted at this moment: erase again when they have ended. */
  readonly underWay: number;
}

/** How far a sink has been told that leads were erased; each is a number of leads. */
export interface SinkErasure {
  readonly sink: string;
  /** The sink got them, or may have got them. */
  readonly had: number;
  /** Of these it took so many for certain. */
  readonly certain: number;
  /** It took the word that they are erased. */
  readonly told: number;
  /** It is owed that word. */
  readonly owed: number;
  /** It refused that word, which nobody repeats by themselves. */
  readonly refused: number;
  /** Nothing goes there until somebody resumes it. */
  readonly paused: boolean;
}

/** Where a sink brought leads until it was configured to bring them elsewhere. */
export interface FormerDestination {
  readonly sink: string;
  readonly place: string;
  readonly until: Date;
  /** So many of the leads it got there, or may have got. */
  readonly had: number;
}

/** A lead that was erased, where some place was not reached yet. */
export interface UnfinishedErasure extends LeadKey {
  readonly erasedAt: Date;
}

/** Everything that is held of a person: rows by table, their values by column. Personal data. */
export type PersonRecord = Readonly<Record<string, readonly Readonly<Record<string, PersonValue>>[]>>;

/** A value of such a row; from a column of JSON an array or object. */
export type PersonValue = string | number | null | object;
