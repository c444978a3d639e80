import type { ErasureCounts, LeadKey } from '../../leads/person.ts';
import type { KeptRecord } from '../../sinks/sink.ts';

/** What an erasure achieved at one place. */
export interface PlaceReport {
  /** `ledger`, or the name of the sink or export. */
  readonly place: string;
  readonly type: string;
  /** Whether the erasure succeeded: no data that leadsync put there is left, or the destination has accepted `lead.erased`. */
  readonly reached: boolean;
  /** Whether the place could not be reached now and a later erasure must try it again. */
  readonly again: boolean;
  readonly what: string;
  /** Files that still contain the erased person's data. An operator must remove them. */
  readonly files?: readonly string[];
  /** Records at the destination that may hold data about the erased person. An operator must decide about them. */
  readonly kept?: readonly KeptRecord[];
}

/** Result of an erasure. Names leads by their ids and contains no personal data. */
export interface Certificate {
  readonly at: Date;
  readonly leads: readonly LeadKey[];
  /** Number of rejected leads that were erased. */
  readonly rejected: number;
  readonly erased: Omit<ErasureCounts, 'underWay'>;
  readonly places: readonly PlaceReport[];
}
