import type Database from 'better-sqlite3';
import type { FoundLead, FoundLeads, PersonSearch } from '../contract/page-rows.ts';
import { ContactSearch } from '../rules/queries/find-leads.ts';
import { LeadList } from './lead-list.ts';

interface ContentRow {
  no: bigint;
  source: string;
  id: bigint;
  version: bigint;
  validFrom: bigint;
  raw: string;
}

/** Finds leads by a part of the client's name, email address or phone number in every stored version, newest first. */
export class FindLeads {
  readonly #list: LeadList;
  readonly #sql;

  constructor(db: Database.Database) {
    this.#list = new LeadList(db);
    this.#sql = prepare(db);
  }

  /** Returns the leads that match. Reads a limited number of versions. A search text that is too short matches nothing. */
  find(search: PersonSearch, limit: number): FoundLeads {
    const reading = new ContactSearch(search);
    const rows: FoundLead[] = [];
    // Not only those of the source that is asked for, so that versions from other sources count towards the maximum.
    for (const row of this.#sql.contents.iterate(search.before ?? Number.MAX_SAFE_INTEGER)) {
      const contact = reading.read(row);
      if (contact && !this.#hasNewerMatch(row, reading)) {
        const lead = this.#list.one(row.source, row.id);
        if (lead) rows.push({ ...lead, ...contact, matchedVersion: Number(row.version) });
      }
      if (rows.length === limit || reading.isFull)
        return {
          rows,
          contents: reading.contents,
          next: { before: Number(row.no), at: Number(row.validFrom) },
        };
    }
    return { rows, contents: reading.contents, next: undefined };
  }

  /** Whether a newer version of the lead also matches. If so, the lead was found through that version, in this answer or an earlier one. */
  #hasNewerMatch({ source, id, version }: ContentRow, reading: ContactSearch): boolean {
    return this.#sql.newer.all(source, id, version).some((raw) => reading.match(raw) !== undefined);
  }
}

function prepare(db: Database.Database) {
  return {
    contents: db
      .prepare<[number], ContentRow>(
        `SELECT version_no AS no, source, id, version, valid_from AS validFrom, raw FROM _versions
         WHERE version_no < ? ORDER BY version_no DESC`,
      )
      .safeIntegers(),
    newer: db
      .prepare<[string, bigint, bigint], string>(
        'SELECT raw FROM _versions WHERE source = ? AND id = ? AND version > ? ORDER BY version DESC LIMIT 100',
      )
      .pluck(),
  };
}
