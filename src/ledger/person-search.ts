import type Database from 'better-sqlite3';
import { normalisedEmail, normalisedPhone } from '../leads/client.ts';
import type { LeadId } from '../leads/lead.ts';
import type { LeadKey, Subject } from '../leads/person.ts';

/** So many texts are read in one part, and fewer where they are megabytes long. */
const AT_ONCE = 500;
const CHARACTERS_AT_ONCE = 4_000_000;

/** A part of a search: what fits in it, and where the next one begins; undefined when it was the last. */
interface Part<T> {
  readonly found: readonly T[];
  readonly next: number | undefined;
}

interface VersionRow {
  no: number;
  source: string;
  id: string;
  raw: string;
}

/** Finds a person by email address or phone number, in every content that leads have had. Only reads, part by part. */
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

  rejectedNamed(lead: LeadId, source: string | undefined): number[] {
    return this.#sql.rejectedNamed.all({ lead, of: source ?? null });
  }

  leads(subject: Subject, source: string | undefined, after: number): Part<LeadKey> {
    const { rows, next } = some(this.#sql.versions.iterate({ after, of: source ?? null, limit: AT_ONCE }));
    const found = rows.filter(({ raw }) => isOf(raw, subject));
    return { found: found.map((row) => ({ source: row.source, leadId: BigInt(row.id) })), next };
  }

  rejected(subject: Subject, source: string | undefined, after: number): Part<number> {
    const { rows, next } = some(this.#sql.rejected.iterate({ after, of: source ?? null, limit: AT_ONCE }));
    return { found: rows.filter(({ raw }) => isOf(raw, subject)).map(({ no }) => no), next };
  }
}

function some(found: Iterable<VersionRow>): { rows: VersionRow[]; next: number | undefined } {
  const rows: VersionRow[] = [];
  let characters = 0;
  for (const row of found) {
    rows.push(row);
    characters += row.raw.length;
    if (characters > CHARACTERS_AT_ONCE) break;
  }
  return { rows, next: rows.at(-1)?.no };
}

/** Whether a text is of that person. One that was set aside may be anything, or not JSON at all: then it is searched as it stands. */
function isOf(raw: string, subject: Subject): boolean {
  if (subject.kind === 'lead' || raw === '') return false;
  const wanted =
    subject.kind === 'email' ? normalisedEmail(subject.contact) : normalisedPhone(subject.contact);
  const { client_email: email, client_phone_number: phone } = fieldsOf(raw);
  const given = subject.kind === 'email' ? email : phone;
  if (typeof given !== 'string') return raw.toLowerCase().includes(subject.contact.trim().toLowerCase());
  return (subject.kind === 'email' ? normalisedEmail(given) : normalisedPhone(given)) === wanted;
}

function fieldsOf(raw: string): { client_email?: unknown; client_phone_number?: unknown } {
  try {
    return Object(JSON.parse(raw));
  } catch {
    return {};
  }
}

type Of = { of: string | null };

function prepare(db: Database.Database) {
  return {
    leads: db.prepare<[Of & { lead: LeadId }], { source: string; id: string }>(
      `SELECT l.source, CAST(l.id AS TEXT) AS id FROM _sources s JOIN _leads l ON l.source = s.source AND l.id = :lead
       WHERE :of IS NULL OR l.source = :of ORDER BY l.source`,
    ),
    rejectedNamed: db
      .prepare<[Of & { lead: LeadId }], number>(
        'SELECT rejected_id FROM rejected_leads WHERE lead_id = :lead AND (:of IS NULL OR source = :of)',
      )
      .pluck(),
    versions: db.prepare<[Of & { after: number; limit: number }], VersionRow>(
      `SELECT version_no AS no, source, CAST(id AS TEXT) AS id, raw FROM _versions
       WHERE version_no > :after AND (:of IS NULL OR source = :of) ORDER BY version_no LIMIT :limit`,
    ),
    rejected: db.prepare<[Of & { after: number; limit: number }], VersionRow>(
      `SELECT rejected_id AS no, source, '0' AS id, raw FROM rejected_leads
       WHERE rejected_id > :after AND (:of IS NULL OR source = :of) ORDER BY rejected_id LIMIT :limit`,
    ),
  };
}
