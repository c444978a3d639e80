import type { ErasureCounts, LeadKey } from '../../leads/person.ts';

/** What became of a person at one place. */
export interface PlaceReport {
  /** `ledger`, or the sink's name. */
  readonly place: string;
  readonly type: string;
  /** Nothing of the person is left there, as far as leadsync put it there. */
  readonly reached: boolean;
  /** It could not be reached now, and a later erasure goes on with it. */
  readonly again: boolean;
  readonly what: string;
  /** The files that still hold the person, for somebody to remove. */
  readonly files?: readonly string[];
}

/** What an erasure came to. Names no person: leads by their ids. */
export interface Certificate {
  readonly at: Date;
  readonly leads: readonly LeadKey[];
  /** Elements of listings that were set aside. */
  readonly rejected: number;
  readonly erased: Omit<ErasureCounts, 'underWay'>;
  readonly places: readonly PlaceReport[];
}
