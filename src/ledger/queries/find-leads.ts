import type Database from 'better-sqlite3';
import { contactMatcher, contactOf } from '../../leads/find-contact.ts';
import type { FoundLead, FoundLeads, PersonSearch } from '../contract/page-rows.ts';
import { LeadList } from './lead-list.ts';

/** Maximum number of versions read for one answer. */
const MAX_CONTENTS = 20_000;
/** Maximum total length of these versions, in UTF-16 code units. The last version may exceed it. */
const MAX_CHARACTERS = 40_000_000;

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
  find({ text, source, before }: PersonSearch, limit: number): FoundLeads {
    const matches = contactMatcher(text) ?? (() => false);
    const rows: FoundLead[] = [];
    let [contents, characters] = [0, 0];
    for (const row of this.#sql.contents.iterate(before ?? Number.MAX_SAFE_INTEGER)) {
      contents += 1;
      characters += row.raw.length;
      // Not in SQL, so that versions from other sources count towards the maximum.
      const contact = source === undefined || row.source === source ? contactOf(row.raw) : undefined;
      if (contact && matches(contact) && !this.#hasNewerMatch(row, matches)) {
        const lead = this.#list.one(row.source, row.id);
        if (lead) rows.push({ ...lead, ...contact, matchedVersion: Number(row.version) });
      }
      if (rows.length === limit || contents === MAX_CONTENTS || characters > MAX_CHARACTERS)
        return { rows, contents, next: { before: Number(row.no), at: Number(row.validFrom) } };
    }
    return { rows, contents, next: undefined };
  }

  /** Whether a newer version of the lead also matches. If so, the lead was found through that version, in this answer or an earlier one. */
  #hasNewerMatch(
    { source, id, version }: ContentRow,
    matches: NonNullable<ReturnType<typeof contactMatcher>>,
  ): boolean {
    for (const raw of this.#sql.newer.all(source, id, version)) {
      const contact = contactOf(raw);
      if (contact && matches(contact)) return true;
    }
    return false;
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
