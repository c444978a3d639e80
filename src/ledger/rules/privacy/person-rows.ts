import { matchesPerson } from '../../../leads/match-person.ts';
import type { LeadKey, Person, RejectedKey, Subject } from '../../../leads/person.ts';

/** Maximum number of rows read in one chunk. */
export const CHUNK_ROWS = 500;
/** Maximum total length of the text in these rows, in characters. The last row may exceed it. */
export const CHUNK_CHARACTERS = 4_000_000;

/** A chunk of a search: its matches, and the row number after which the next chunk begins. `next` is undefined after the last chunk. */
export interface Chunk<T> {
  readonly found: readonly T[];
  readonly next: number | undefined;
}

/** A version of a lead, with its text. */
export interface VersionRow<Id = string> {
  no: number;
  source: string;
  id: Id;
  raw: string;
}

/** A rejected lead, with its text. `id` is null if it has none, or if the lead with that id is known. */
export type RejectedRow = VersionRow<string | null> & RejectedKey;

/**
 * The key of a rejected lead, and the key of the lead with its id. `lead` is undefined if the rejected lead has no id, or if the lead is
 * known: the lead's versions then decide whether it is the person's.
 */
export interface RejectedFound {
  readonly key: RejectedKey;
  readonly lead: LeadKey | undefined;
}

/** Returns the person's leads among these versions. */
export function leadsOf(rows: readonly VersionRow[], subject: Subject): Chunk<LeadKey> {
  const found = rows.filter(({ raw }) => matchesPerson(raw, subject));
  return { found: found.map(({ source, id }) => ({ source, leadId: BigInt(id) })), next: rows.at(-1)?.no };
}

/** Returns the person's rejected leads among these rows. */
export function rejectedOf(rows: readonly RejectedRow[], subject: Subject): Chunk<RejectedFound> {
  const found = rows.filter(({ raw }) => matchesPerson(raw, subject));
  return {
    found: found.map(({ source, hash, id }) => ({
      key: { source, hash },
      lead: id === null ? undefined : { source, leadId: BigInt(id) },
    })),
    next: rows.at(-1)?.no,
  };
}

/** Returns the person to whom the found leads and rejected leads belong. Names each lead once. */
export function personOf(leads: readonly LeadKey[], rejected: readonly RejectedFound[]): Person {
  const named = [...leads, ...rejected.flatMap(({ lead }) => lead ?? [])];
  const byName = new Map(named.map((lead) => [`${lead.source} ${lead.leadId}`, lead]));
  return { leads: [...byName.values()], rejected: rejected.map(({ key }) => key) };
}
