import type {
  ErasureCounts,
  FormerDestination,
  LeadKey,
  Person,
  PersonRecord,
  SinkErasure,
  Subject,
  UnfinishedErasure,
} from '../../leads/person.ts';

/** The methods for a person's requests: find, disclose and erase what the ledger holds about them. */
export interface LedgerPersons {
  /**
   * Returns the leads and rejected leads of a person. If the subject is a lead, looks it up by its id. If the subject is an email address
   * or a phone number, reads every version of every lead and every rejected lead, in chunks.
   */
  findPerson(subject: Subject, source?: string): Promise<Person>;
  /** Returns every row that the ledger holds about a person. */
  personRecord(person: Person): Promise<PersonRecord>;
  /**
   * Erases the content of a person's leads and rejected leads permanently, and skips their pending deliveries. A lead keeps its id and
   * hash, so that no poll records it again, even with different content. For each sink in `notifySinks` that received, or may have
   * received, a lead, records one delivery of the event `erased` as owed. Does not interrupt attempts in progress, but counts their
   * deliveries. First records which leads to erase, then erases each lead in its own transaction; after a crash, the caller calls it again
   * for the rest.
   */
  erase(person: Person, notifySinks: readonly string[]): Promise<ErasureCounts>;
  /** Returns, for each sink that may have received some of these leads, the progress of the erasure there. */
  sinkErasures(leads: readonly LeadKey[]): Promise<readonly SinkErasure[]>;
  /** Returns the former destinations to which sinks may have written some of these leads before the sinks were reconfigured. */
  formerDestinations(leads: readonly LeadKey[]): Promise<readonly FormerDestination[]>;
  /**
   * Returns the leads whose erasure began, but for which `finishErasing` was not called. Their content may still be in the ledger or at a
   * destination. The caller erases them again, to finish an erasure that a killed process left unfinished.
   */
  unfinishedErasures(): Promise<readonly UnfinishedErasure[]>;
  /** Returns every lead whose erasure has begun, in that order. */
  erasedLeads(): Promise<readonly LeadKey[]>;
  /** Records that these leads are erased at every destination. */
  finishErasing(leads: readonly LeadKey[]): Promise<void>;
}
