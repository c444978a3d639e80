import type Database from 'better-sqlite3';
import type { LeadKey, Person, PersonRecord, PersonValue, RejectedKey } from '../../leads/person.ts';

type Row = Record<string, string | bigint | number | null>;

/** Columns that identify a lead. */
const IDS: ReadonlySet<string> = new Set(['id', 'lead_id']);
/** Columns whose JSON text becomes nested JSON in the output. */
const NESTED: ReadonlySet<string> = new Set(['service_question_answers', 'answers', 'changed_fields']);

/** Reads all rows that the ledger holds about a person, table by table. Only reads. */
export class SubjectRows {
  readonly #ofLead;
  readonly #rejected;

  constructor(db: Database.Database) {
    const rows = (sql: string) => db.prepare<[LeadKey], Row>(sql).safeIntegers();
    this.#ofLead = {
      leads: rows('SELECT * FROM leads WHERE source = :source AND id = :leadId'),
      lead_versions: rows(
        'SELECT * FROM lead_versions WHERE source = :source AND lead_id = :leadId ORDER BY version',
      ),
      deliveries: rows(
        'SELECT * FROM deliveries WHERE source = :source AND lead_id = :leadId ORDER BY _leadsync_no',
      ),
      attempts: rows(
        `SELECT a.*, p.answer FROM attempts a JOIN _attempts p ON p.attempt_no = a._leadsync_no
         WHERE a.source = :source AND a.lead_id = :leadId ORDER BY a._leadsync_no`,
      ),
      client_keys: rows(
        'SELECT source, id, client_key FROM _client_keys WHERE source = :source AND id = :leadId',
      ),
      erased: rows(
        `SELECT source, id, strftime('%Y-%m-%dT%H:%M:%fZ', erased_at / 1000.0, 'unixepoch') AS erased_at, kept_out FROM _erased
         WHERE source = :source AND id = :leadId`,
      ),
    };
    this.#rejected = db
      .prepare<[RejectedKey], Row>('SELECT * FROM rejected_leads WHERE source = :source AND hash = :hash')
      .safeIntegers();
  }

  of({ leads, rejected }: Person): PersonRecord {
    const ofLeads = Object.entries(this.#ofLead).map(([table, sql]) => [
      table,
      leads.flatMap((lead) => sql.all(lead).map(plain)),
    ]);
    return {
      ...Object.fromEntries(ofLeads),
      rejected_leads: rejected.flatMap((one) => this.#rejected.all(one).map(plain)),
    };
  }
}

/**
 * Converts a row for JSON output. Ids become strings, as everywhere in leadsync's JSON, because a reader may round numbers. Columns that
 * contain JSON become nested values. The text of a lead stays as received.
 */
function plain(row: Row): PersonRecord[string][number] {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plainValue(name, value)]));
}

function plainValue(name: string, value: Row[string]): PersonValue {
  if (typeof value === 'bigint') return IDS.has(name) ? String(value) : Number(value);
  return typeof value === 'string' && NESTED.has(name) ? JSON.parse(value) : value;
}
