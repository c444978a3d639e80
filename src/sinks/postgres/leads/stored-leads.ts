import type { ClientBase } from 'pg';
import { quoted } from '../../../postgres/identifier.ts';
import type { StoredLead } from '../../sink.ts';

const PAGE_ROWS = 2_000;

/** Returns the next page of leads after `last`, in the order of the primary key; empty at the end. */
export async function storedLeadsAfter(
  client: ClientBase,
  schema: string,
  last: StoredLead | undefined,
): Promise<StoredLead[]> {
  const { rows } = await client.query(
    `SELECT t.source, t.id::text AS lead, t._leadsync_version AS version FROM ${quoted(schema)}.leads t
    WHERE $1::text IS NULL OR (t.source, t.id) > ($1::text, $2::bigint) ORDER BY t.source, t.id LIMIT ${PAGE_ROWS}`,
    [last?.source ?? null, last ? String(last.leadId) : '0'],
  );
  return rows.map(({ source, lead, version }) => ({ source, leadId: BigInt(lead), version }));
}
