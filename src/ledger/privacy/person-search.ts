import type Database from 'better-sqlite3';
import type { LeadId } from '../../leads/lead.ts';
import { matchesPerson } from '../../leads/match-person.ts';
import type { LeadKey, RejectedKey, Subject } from '../../leads/person.ts';

/** Maximum number of rows read in one chunk. */
const CHUNK_ROWS = 500;
/** Maximum total length of the text in these rows, in UTF-16 code units. The last row may exceed it. */
const CHUNK_CHARACTERS = 4_000_000;

/** A chunk of a search: its matches, and the row number after which the next chunk begins. `next` is undefined after the last chunk. */
interface Chunk<T> {
  readonly found: readonly T[];
  readonly next: number | undefined;
}

interface VersionRow<Id = string> {
  no: number;
  source: string;
  id: Id;
  raw: string;
}

type RejectedRow = VersionRow<string | null> & RejectedKey;

/**
 * The key of a rejected lead, and the key of the lead with its id. `lead` is undefined if the rejected lead has no id, or if the lead is
 * known: `leads` then decides, from the lead's versions, whether it is the person's.
 */
interface RejectedFound {
  readonly key: RejectedKey;
  readonly lead: LeadKey | undefined;
}

/** Finds a person by email address or phone number in every version of every lead and in every rejected lead, in chunks. Only reads. */
export class PersonSearch {
  readonly #sql;

  constructor(db: Database.Database) {
    this.#sql = prepare(db);
  }

  leadsNamed(lead: LeadId, source: string | undefined): LeadKey[] {
    return this.#sql.leads
      .all({ lead, of: source ?? null })
      .map((row) => ({ source: row.source, leadId: BigInt(row.id) }));
  }

  rejectedNamed(lead: LeadId, source: string | undefined): RejectedKey[] {
    return this.#sql.rejectedNamed.all({ lead, of: source ?? null });
  }

  leads(subject: Subject, source: string | undefined, after: number): Chunk<LeadKey> {
    const { rows, next } = some(this.#sql.versions.iterate({ after, of: source ?? null, limit: CHUNK_ROWS }));
    const found = rows.filter(({ raw }) => matchesPerson(raw, subject));
    return { found: found.map((row) => ({ source: row.source, leadId: BigInt(row.id) })), next };
  }

  rejected(subject: Subject, source: string | undefined, after: number): Chunk<RejectedFound> {
    const { rows, next } = some(this.#sql.rejected.iterate({ after, of: source ?? null, limit: CHUNK_ROWS }));
    const found = rows.filter(({ raw }) => matchesPerson(raw, subject));
    return {
      found: found.map(({ source, hash, id }) => ({
        key: { source, hash },
        lead: id === null ? undefined : { source, leadId: BigInt(id) },
      })),
      next,
    };
  }
}

function some<Row extends VersionRow<string | null>>(
  found: Iterable<Row>,
): { rows: Row[]; next: number | undefined } {
  const rows: Row[] = [];
  let characters = 0;
  for (const row of found) {
    rows.push(row);
    characters += row.raw.length;
    if (characters > CHUNK_CHARACTERS) break;
  }
  return { rows, next: rows.at(-1)?.no };
}

type Of = { of: string | null };

function prepare(db: Database.Database) {
  return {
    leads: db.prepare<[Of & { lead: LeadId }], { source: string; id: string }>(
      // Includes a lead that every listing so far contained as invalid, because a later listing may contain it as valid.
      `SELECT s.source, CAST(:lead AS TEXT) AS id FROM _sources s
       WHERE (:of IS NULL OR s.source = :of) AND (EXISTS (SELECT 1 FROM _leads l WHERE l.source = s.source AND l.id = :lead)
         OR EXISTS (SELECT 1 FROM rejected_leads r WHERE r.source = s.source AND r.lead_id = :lead)) ORDER BY s.source`,
    ),
    rejectedNamed: db.prepare<[Of & { lead: LeadId }], RejectedKey>(
      'SELECT source, hash FROM rejected_leads WHERE lead_id = :lead AND (:of IS NULL OR source = :of)',
    ),
    versions: db.prepare<[Of & { after: number; limit: number }], VersionRow>(
      `SELECT version_no AS no, source, CAST(id AS TEXT) AS id, raw FROM _versions
       WHERE version_no > :after AND (:of IS NULL OR source = :of) ORDER BY version_no LIMIT :limit`,
    ),
    rejected: db.prepare<[Of & { after: number; limit: number }], RejectedRow>(
      `SELECT rejected_id AS no, source, hash, raw, iif(EXISTS (SELECT 1 FROM _leads l WHERE l.source = r.source AND l.id = r.lead_id),
         NULL, CAST(lead_id AS TEXT)) AS id FROM rejected_leads r
       WHERE rejected_id > :after AND (:of IS NULL OR source = :of) ORDER BY rejected_id LIMIT :limit`,
    ),
  };
}
