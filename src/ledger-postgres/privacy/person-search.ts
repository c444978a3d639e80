import type { LeadId } from '../../leads/lead.ts';
import type { LeadKey, Person, RejectedKey, Subject } from '../../leads/person.ts';
import {
  CHUNK_CHARACTERS,
  CHUNK_ROWS,
  type Chunk,
  leadsOf,
  type RejectedFound,
  type RejectedRow,
  rejectedOf,
  type VersionRow,
} from '../../ledger/rules/privacy/person-rows.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** Returns the leads and rejected leads with a lead id. */
export async function personNamed(
  tx: Transaction,
  lead: LeadId,
  source: string | undefined,
): Promise<Person> {
  const asked = [lead, source ?? null];
  const leads = await tx.rows(LEADS_NAMED, asked);
  return {
    leads: leads.map(({ source }) => ({ source, leadId: lead })),
    rejected: await tx.rows(REJECTED_NAMED, asked),
  };
}

/** Searches one chunk of the versions of all leads for a person, after a row number. */
export async function searchLeads(
  tx: Transaction,
  subject: Subject,
  source: string | undefined,
  after: number,
): Promise<Chunk<LeadKey>> {
  return leadsOf(await tx.rows(VERSIONS, [after, source ?? null, CHUNK_ROWS, CHUNK_CHARACTERS]), subject);
}

/** Searches one chunk of the rejected leads for a person, after a row number. */
export async function searchRejected(
  tx: Transaction,
  subject: Subject,
  source: string | undefined,
  after: number,
): Promise<Chunk<RejectedFound>> {
  return rejectedOf(await tx.rows(REJECTED, [after, source ?? null, CHUNK_ROWS, CHUNK_CHARACTERS]), subject);
}

/** Leaves out the rows behind those that fill a chunk: they would all be in memory. */
const chunkOf = (rows: string) =>
  `SELECT * FROM (SELECT r.*, sum(length(r.raw)) OVER (ORDER BY r.no) - length(r.raw) AS before FROM (${rows}) r) c
   WHERE c.before <= $4 ORDER BY c.no`;

// Includes a lead that every listing so far contained as invalid, because a later listing may contain it as valid.
const LEADS_NAMED = statement<{ source: string }>(
  'leads-named',
  `SELECT s.source FROM _sources s WHERE ($2::text IS NULL OR s.source = $2)
   AND (EXISTS (SELECT 1 FROM _leads l WHERE l.source = s.source AND l.id = $1::bigint)
     OR EXISTS (SELECT 1 FROM _rejected_leads r WHERE r.source = s.source AND r.lead_id = $1)) ORDER BY s.source`,
);

const REJECTED_NAMED = statement<RejectedKey>(
  'rejected-named',
  'SELECT source, hash FROM _rejected_leads WHERE lead_id = $1::bigint AND ($2::text IS NULL OR source = $2)',
);

const VERSIONS = statement<VersionRow>(
  'search-versions',
  chunkOf(`SELECT version_no AS no, source, id::text AS id, raw FROM _versions
    WHERE version_no > $1 AND ($2::text IS NULL OR source = $2) ORDER BY version_no LIMIT $3`),
);

const REJECTED = statement<RejectedRow>(
  'search-rejected',
  chunkOf(`SELECT rejected_id AS no, source, hash, raw,
    CASE WHEN EXISTS (SELECT 1 FROM _leads l WHERE l.source = j.source AND l.id = j.lead_id) THEN NULL ELSE lead_id::text END AS id
    FROM _rejected_leads j WHERE rejected_id > $1 AND ($2::text IS NULL OR source = $2) ORDER BY rejected_id LIMIT $3`),
);
