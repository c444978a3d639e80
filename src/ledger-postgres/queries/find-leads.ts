import type { FoundLead, FoundLeads, PersonSearch } from '../../ledger/contract/page-rows.ts';
import { ContactSearch } from '../../ledger/rules/queries/find-leads.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { leadRows } from './lead-rows.ts';

/** Maximum number of versions, and of characters before the last of them, in one part. */
const PART_ROWS = 500;
const PART_CHARACTERS = 4_000_000;

/** Finds leads by a part of the client's name, email address or phone number, as `LedgerQueries.findLeads` describes. */
export async function findLeads(tx: Transaction, search: PersonSearch, limit: number): Promise<FoundLeads> {
  const reading = new ContactSearch(search);
  const rows: FoundLead[] = [];
  let before = search.before ?? Number.MAX_SAFE_INTEGER;
  for (;;) {
    const part = await tx.rows(CONTENTS, [before, PART_ROWS, PART_CHARACTERS]);
    if (part.length === 0) return { rows, contents: reading.contents, next: undefined };
    for (const row of part) {
      const contact = reading.read(row);
      if (contact && !(await hasNewerMatch(tx, row, reading))) {
        const [lead] = await leadRows(tx, [row]);
        if (lead) rows.push({ ...lead, ...contact, matchedVersion: row.version });
      }
      before = row.no;
      if (rows.length === limit || reading.isFull)
        return { rows, contents: reading.contents, next: { before, at: row.validFrom } };
    }
  }
}

/** Whether a newer version of the lead also matches. If so, the lead was found through that version, in this answer or an earlier one. */
async function hasNewerMatch(
  tx: Transaction,
  { source, id, version }: ContentRow,
  reading: ContactSearch,
): Promise<boolean> {
  const newer = await tx.rows(NEWER, [source, BigInt(id), version]);
  return newer.some(({ raw }) => reading.match(raw) !== undefined);
}

interface ContentRow {
  no: number;
  source: string;
  id: string;
  version: number;
  validFrom: number;
  raw: string;
}

// Leaves out the rows behind those that fill a part: they would all be in memory.
const CONTENTS = statement<ContentRow>(
  'contents-before',
  `SELECT n.* FROM (SELECT r.*, sum(length(r.raw)) OVER (ORDER BY r.no DESC) - length(r.raw) AS earlier FROM (
     SELECT version_no AS no, source, id::text AS id, version, valid_from AS "validFrom", raw FROM _versions
     WHERE version_no < $1 ORDER BY version_no DESC LIMIT $2) r) n WHERE n.earlier <= $3 ORDER BY n.no DESC`,
);
const NEWER = statement<{ raw: string }>(
  'newer-contents',
  'SELECT raw FROM _versions WHERE source = $1 AND id = $2 AND version > $3 ORDER BY version DESC LIMIT 100',
);
