import type { LeadKey } from './person.ts';

/** What a ledger knows of a lead that a destination holds. */
export interface HeldState {
  /** Numbers the lead; undefined when the ledger does not know it. */
  readonly lead: number | undefined;
  readonly erased: boolean;
  /** The newest version that was delivered there; undefined when none was. */
  readonly delivered: number | undefined;
  /** Something of it is owed there at this moment. */
  readonly owed: boolean;
}

/** A lead of a ledger, as far as one destination is concerned. */
export interface DeliveredLead extends LeadKey {
  readonly lead: number;
  /** The newest version that was delivered there; undefined when none was. */
  readonly version: number | undefined;
  readonly owed: boolean;
}
