import type { ClientBase } from 'pg';
import type { HeldLead } from '../sink.ts';
import { quoted } from './identifier.ts';

const AT_ONCE = 2_000;

/** The next leads behind one, in the order of the table's key; none when it was the last. */
export async function heldAfter(
  client: ClientBase,
  schema: string,
  last: HeldLead | undefined,
): Promise<HeldLead[]> {
  const { rows } = await client.query(
    `SELECT t.source, t.id::text AS lead, t._leadsync_version AS version FROM ${quoted(schema)}.leads t
    WHERE $1::text IS NULL OR (t.source, t.id) > ($1::text, $2::bigint) ORDER BY t.source, t.id LIMIT ${AT_ONCE}`,
    [last?.source ?? null, last ? String(last.leadId) : '0'],
  );
  return rows.map(({ source, lead, version }) => ({ source, leadId: BigInt(lead), version }));
}
