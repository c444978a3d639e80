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

/** What is asked for the sake of a person: to find, to give out and to remove what is held of them. */
export interface LedgerPersons {
  /** What there is of a person, in every content that leads have had and in what was set aside. Reads every text, in parts. */
  findPerson(subject: Subject, source?: string): Promise<Person>;
  /** Everything that is held of a person, row by row. */
  personRecord(person: Person): Promise<PersonRecord>;
  /**
   * Removes the content of leads and of what was set aside, for good, and what they are owed: a lead keeps its id and hash, so
   * that no poll brings it back, with another content neither. Those sinks of `tell` that got a lead, or may have, are owed a
   * delivery of the event `erased` instead, once. What is being attempted is left to its end, and counted. Whom it takes
   * is noted first, then each lead is one transaction; erasing again does what is left.
   */
  erase(person: Person, tell: readonly string[]): Promise<ErasureCounts>;
  /** How far the sinks that may have leads have been told that they are erased. */
  toldErasure(leads: readonly LeadKey[]): Promise<readonly SinkErasure[]>;
  /** Where sinks have brought some of these leads, before they were configured to bring them elsewhere. */
  formerPlaces(leads: readonly LeadKey[]): Promise<readonly FormerDestination[]>;
  /** Leads that were erased, until `finishErasing` tells that every place was reached: whoever was killed in between is gone on for. */
  unfinishedErasures(): Promise<readonly UnfinishedErasure[]>;
  /** Every place was reached: these erasures are done. */
  finishErasing(leads: readonly LeadKey[]): Promise<void>;
}
