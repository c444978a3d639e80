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
   * Returns the leads and rejected leads of a person. Finds a lead by its id; finds an email address or a phone number by reading every
   * version of every lead, in chunks.
   */
  findPerson(subject: Subject, source?: string): Promise<Person>;
  /** Returns every row that the ledger holds about a person. */
  personRecord(person: Person): Promise<PersonRecord>;
  /**
   * Erases the content of a person's leads and rejected leads for ever, and skips their pending deliveries. A lead keeps its id and
   * hash, so that no poll records it again, not even with another content. Owes one delivery of the event `erased` to each sink in
   * `notifySinks` that received a lead or may have. Does not interrupt attempts in progress, but counts their deliveries. Records
   * which leads to erase first, then erases each in a transaction; after a crash, call it again for the rest.
   */
  erase(person: Person, notifySinks: readonly string[]): Promise<ErasureCounts>;
  /** Returns, for each sink that may have received some of these leads, how many of them it knows to be erased. */
  sinkErasures(leads: readonly LeadKey[]): Promise<readonly SinkErasure[]>;
  /** Returns the earlier destinations of sinks that wrote some of these leads there before they were reconfigured. */
  formerDestinations(leads: readonly LeadKey[]): Promise<readonly FormerDestination[]>;
  /**
   * Returns the leads that were erased here but perhaps not at every destination: `finishErasing` was not called for them. The caller
   * continues the erasure that a killed process left.
   */
  unfinishedErasures(): Promise<readonly UnfinishedErasure[]>;
  /** Records that these leads are erased at every destination. */
  finishErasing(leads: readonly LeadKey[]): Promise<void>;
}
