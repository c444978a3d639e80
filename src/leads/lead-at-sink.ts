import type { LeadKey } from './person.ts';

/** What the ledger knows of a lead that a destination stores. */
export interface LeadAtSink {
  /** The lead's number in the ledger; undefined when the ledger does not know it. */
  readonly lead: number | undefined;
  readonly erased: boolean;
  /** The newest version delivered to the sink; undefined when none was. */
  readonly delivered: number | undefined;
  /** Whether a delivery of the lead to the sink is pending. */
  readonly owed: boolean;
}

/** A lead of the ledger, with what was delivered of it to one sink. */
export interface DeliveredLead extends LeadKey {
  readonly lead: number;
  /** The newest version delivered to the sink; undefined when none was. */
  readonly version: number | undefined;
  readonly owed: boolean;
}
