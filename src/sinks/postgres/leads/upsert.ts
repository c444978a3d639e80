import type { ClientBase } from 'pg';
import type { Delivery } from '../../../leads/delivery.ts';
import type { LeadRow } from '../../lead-row.ts';
import { NotWritten } from '../connection/not-written.ts';
import { arrayParameter } from '../sql/array-parameter.ts';
import { quoted } from '../sql/identifier.ts';
import { leadColumns } from './lead-columns.ts';

const names = Object.keys(leadColumns) as (keyof typeof leadColumns)[];

/** The most of leads' JSON that goes into one transaction, in characters: what a statement carries has its limits. */
const PART_CHARACTERS = 16_000_000;

/** Divides deliveries into parts that can each be written at once: of bounded size, and no lead twice, in order. */
export function partsOf(deliveries: readonly Delivery[]): Delivery[][] {
  const parts: Delivery[][] = [];
  const leads = new Set<string>();
  let part: Delivery[] = [];
  let characters = 0;
  for (const delivery of deliveries) {
    const { source, leadId, raw } = delivery;
    const lead = `${source} ${leadId}`;
    if (part.length === 0 || leads.has(lead) || characters + raw.length > PART_CHARACTERS) {
      part = [];
      parts.push(part);
      leads.clear();
      characters = 0;
    }
    part.push(delivery);
    leads.add(lead);
    characters += raw.length;
  }
  return parts;
}

/**
 * Writes rows, no lead twice, inside the caller's transaction. A row that holds something newer is left as it is. Writing the same again changes nothing but `_leadsync_synced_at`.
 * @throws NotWritten, or what PostgreSQL says; the transaction must then be rolled back
 */
export async function upsert(client: ClientBase, schema: string, rows: readonly LeadRow[]): Promise<void> {
  // In one order everywhere, so that two writers of the same leads wait for each other and do not lock up.
  const sorted = rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const { rows: written } = await client.query(
    upsertLeads(quoted(schema)),
    names.map((name) =>
      arrayParameter(
        leadColumns[name],
        sorted.map((row) => row.columns[name]),
      ),
    ),
  );
  const keys = new Set(written.map(({ source, id }) => `${source} ${id}`));
  const left = sorted.filter((row) => !keys.has(keyOf(row)));
  await expectStored(client, quoted(schema), left);
}

function upsertLeads(schema: string): string {
  const arrays = names.map((name, index) => `$${index + 1}::${leadColumns[name]}[]`);
  const changing = names.filter((name) => !['source', 'id', '_leadsync_first_seen_at'].includes(name));
  return `
    INSERT INTO ${schema}.leads AS stored (${names.join(', ')}, _leadsync_synced_at)
    SELECT given.*, now() FROM unnest(${arrays.join(', ')}) AS given
    ON CONFLICT (source, id) DO UPDATE SET
      ${changing.map((name) => `${name} = excluded.${name}`).join(', ')}, _leadsync_synced_at = excluded._leadsync_synced_at
    WHERE NOT ${isOlder('excluded')}
    RETURNING source, id`;
}

/**
 * Older than the stored row by its version *and* by its time; at equal times the version decides. Neither is enough alone.
 * Within one ledger versions count up whatever the clock did, and the ledger itself keeps the order of one lead's
 * deliveries. A ledger that was restored counts on from an earlier version, and one that was made anew from 1: of what
 * they list after that only the time tells that it is newer.
 */
function isOlder(given: string): string {
  return `(${given}._leadsync_version < stored._leadsync_version
    AND ${given}._leadsync_changed_at <= stored._leadsync_changed_at)`;
}

/**
 * Of rows that were not written, the table must hold something newer, or the very same. The upsert has locked those that
 * it left out as older, so they are still what they were; what is not there was swallowed, by a trigger for example.
 */
async function expectStored(client: ClientBase, schema: string, rows: readonly LeadRow[]): Promise<void> {
  if (rows.length === 0) return;
  const columns = ['source', 'id', '_leadsync_version', '_leadsync_changed_at', '_leadsync_hash'] as const;
  const { rows: stored } = await client.query(
    `SELECT FROM unnest(${columns.map((name, at) => `$${at + 1}::${leadColumns[name]}[]`).join(', ')})
      AS given (${columns.join(', ')})
    JOIN ${schema}.leads AS stored USING (source, id)
    WHERE ${isOlder('given')} OR (given._leadsync_version, given._leadsync_hash) = (stored._leadsync_version, stored._leadsync_hash)`,
    columns.map((name) => rows.map((row) => row.columns[name])),
  );
  if (stored.length < rows.length) throw new NotWritten(`${schema}.leads`);
}

function keyOf({ columns }: LeadRow): string {
  return `${columns.source} ${columns.id}`;
}
