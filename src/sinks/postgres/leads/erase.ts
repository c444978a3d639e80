import type { ClientBase } from 'pg';
import type { RejectedKey } from '../../../leads/person.ts';
import { quoted } from '../../../postgres/identifier.ts';

/** The primary key of a lead, for parameters. */
export interface Key {
  readonly source: string;
  readonly id: string;
}

/**
 * Erases leads from every table, inside the caller's transaction. The history keeps their rows without content, as the ledger does.
 * Returns the number of rows that it deleted or emptied; 0 if the leads were erased before.
 */
export async function eraseLeads(client: ClientBase, schema: string, leads: readonly Key[]): Promise<number> {
  const keys = [leads.map(({ source }) => source), leads.map(({ id }) => id)];
  const given = 'unnest($1::text[], $2::bigint[]) AS g (source, id)';
  const statements = [
    // Delete the lead before its contents: this statement waits for a transaction that is writing the lead, and the next statement then
    // sees the content that the transaction replaced.
    `DELETE FROM leads t USING ${given} WHERE t.source = g.source AND t.id = g.id`,
    `DELETE FROM _contents t USING ${given} WHERE t.source = g.source AND t.lead_id = g.id`,
    `DELETE FROM _client_keys t USING ${given} WHERE t.source = g.source AND t.id = g.id`,
    `UPDATE rejected_leads t SET raw = '' FROM ${given} WHERE t.source = g.source AND t.lead_id = g.id AND t.raw <> ''`,
    `UPDATE _attempts t SET error = NULL FROM ${given} WHERE t.source = g.source AND t.lead_id = g.id AND t.error IS NOT NULL`,
  ];
  return runAll(client, schema, statements, keys);
}

/** Empties rejected leads, including those of a lost ledger. Returns the number of rows that it emptied. */
export function eraseRejected(
  client: ClientBase,
  schema: string,
  rejected: readonly RejectedKey[],
): Promise<number> {
  const statement = `UPDATE rejected_leads t SET raw = '' FROM unnest($1::text[], $2::text[]) AS g (source, hash)
    WHERE t.source = g.source AND t.hash = g.hash AND t.raw <> ''`;
  const keys = [rejected.map(({ source }) => source), rejected.map(({ hash }) => hash)];
  return runAll(client, schema, [statement], keys);
}

async function runAll(
  client: ClientBase,
  schema: string,
  statements: readonly string[],
  values: readonly unknown[],
): Promise<number> {
  await client.query(`SET LOCAL search_path = ${quoted(schema)}`);
  let rows = 0;
  for (const sql of statements) rows += (await client.query(sql, [...values])).rowCount ?? 0;
  return rows;
}
