import type { LeadKey } from './person.ts';

/** What the ledger knows about a lead that a destination stores. */
export interface LeadAtSink {
  /** Number of the lead in the ledger; undefined if the ledger does not know the lead. */
  readonly lead: number | undefined;
  readonly erased: boolean;
  /** The newest version delivered to the sink; undefined if none was. */
  readonly delivered: number | undefined;
  /** Whether a delivery of the lead to the sink is pending. */
  readonly owed: boolean;
}

/** A lead in the ledger, and the state of its deliveries to one sink. */
export interface DeliveredLead extends LeadKey {
  /** Number of the lead in the ledger. */
  readonly lead: number;
  /** The newest version delivered to the sink; undefined if none was. */
  readonly version: number | undefined;
  /** Whether a delivery of the lead to the sink is pending. */
  readonly owed: boolean;
}
