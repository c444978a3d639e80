import type Database from 'better-sqlite3';
import type { LeadId } from '../../leads/lead.ts';
import type { LeadKey, RejectedKey, Subject } from '../../leads/person.ts';
import {
  CHUNK_CHARACTERS,
  CHUNK_ROWS,
  type Chunk,
  leadsOf,
  type RejectedFound,
  type RejectedRow,
  rejectedOf,
  type VersionRow,
} from '../rules/privacy/person-rows.ts';

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
    return leadsOf(
      some(this.#sql.versions.iterate({ after, of: source ?? null, limit: CHUNK_ROWS })),
      subject,
    );
  }

  rejected(subject: Subject, source: string | undefined, after: number): Chunk<RejectedFound> {
    return rejectedOf(
      some(this.#sql.rejected.iterate({ after, of: source ?? null, limit: CHUNK_ROWS })),
      subject,
    );
  }
}

function some<Row extends VersionRow<string | null>>(found: Iterable<Row>): Row[] {
  const rows: Row[] = [];
  let characters = 0;
  for (const row of found) {
    rows.push(row);
    characters += row.raw.length;
    if (characters > CHUNK_CHARACTERS) break;
  }
  return rows;
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
