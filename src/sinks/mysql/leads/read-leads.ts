import { matchesPerson } from '../../../leads/match-person.ts';
import type { LeadKey, Subject } from '../../../leads/person.ts';
import type { StoredLead } from '../../sink.ts';
import type { Row, Session, Value } from '../connection/session.ts';
import type { OwnTable } from '../schema/own-tables.ts';

const PAGE_ROWS = 2_000;
/** Pages with lead content are smaller, because a lead may have megabytes. */
const CONTENT_ROWS = 200;

/** Returns the next page of leads after `last`, in the order of the key; empty at the end. */
export async function storedLeadsAfter(
  session: Session,
  leads: OwnTable,
  last: LeadKey | undefined,
): Promise<StoredLead[]> {
  const rows = await page(session, leads, '_leadsync_version AS version', last, PAGE_ROWS);
  return rows.map((row) => ({ ...leadKeyOf(row), version: Number(row['version']) }));
}

/** What one page contains about a person, and the last lead of the page (undefined if the page is empty). */
export interface FoundPage {
  readonly found: readonly LeadKey[];
  readonly last: LeadKey | undefined;
}

/** Searches the next page of leads after `last` for a person, by the rules that the ledger uses. */
export async function findPersonAfter(
  session: Session,
  leads: OwnTable,
  subject: Subject,
  last: LeadKey | undefined,
): Promise<FoundPage> {
  const columns = 'client_email, client_phone_number, _leadsync_raw AS raw';
  const rows = await page(session, leads, columns, last, CONTENT_ROWS);
  const found = rows.filter((row) => matchesPerson(contentOf(row), subject)).map(leadKeyOf);
  const end = rows.at(-1);
  return { found, last: end && leadKeyOf(end) };
}

/** Returns the JSON of a lead, or at least those of its fields that `matchesPerson` reads. */
function contentOf({ raw, client_email, client_phone_number }: Row): string {
  return typeof raw === 'string' ? raw : JSON.stringify({ client_email, client_phone_number });
}

async function page(
  session: Session,
  { sql }: OwnTable,
  columns: string,
  last: LeadKey | undefined,
  rows: number,
): Promise<readonly Row[]> {
  const after = 'WHERE source > ? OR (source = ? AND id > CAST(? AS SIGNED))';
  const values: Value[] = last ? [last.source, last.source, String(last.leadId)] : [];
  return session.rows(
    `SELECT source, id, ${columns} FROM ${sql} ${last ? after : ''} ORDER BY source, id LIMIT ${rows}`,
    values,
  );
}

function leadKeyOf(row: Row): LeadKey {
  return { source: String(row['source']), leadId: BigInt(String(row['id'])) };
}
