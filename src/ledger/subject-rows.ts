import type Database from 'better-sqlite3';
import type { LeadKey, Person, PersonRecord } from '../leads/person.ts';

type Row = Record<string, string | bigint | number | null>;

/** Everything that the ledger holds of a person, table by table. Reads only. */
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
      .prepare<[number], Row>('SELECT * FROM rejected_leads WHERE rejected_id = ?')
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

/** Integers that JSON's readers would round become texts. */
function plain(row: Row): Record<string, string | number | null> {
  const values = Object.entries(row).map(([name, value]) => {
    if (typeof value !== 'bigint') return [name, value];
    return [name, Number.isSafeInteger(Number(value)) ? Number(value) : String(value)];
  });
  return Object.fromEntries(values);
}
