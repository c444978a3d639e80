import type { ClientBase } from 'pg';
import { arrayParameter } from '../../../postgres/array-parameter.ts';
import { quoted } from '../../../postgres/identifier.ts';
import type { Cell } from '../../table/field-cells.ts';
import type { LeadRow } from '../../table/lead-row.ts';
import { NotWritten } from '../../table/not-written-error.ts';
import type { FieldColumns } from '../../table/table-fields.ts';
import { typeName } from './field-columns.ts';
import { leadColumns } from './lead-columns.ts';

const names = Object.keys(leadColumns) as (keyof typeof leadColumns)[];

/** A row to store, with the fields of its mapping. */
export interface MappedRow extends LeadRow {
  readonly fields: ReadonlyMap<string, Cell>;
}

/**
 * Upserts rows inside the caller's transaction; a lead may occur only once. Does not overwrite a stored row that has newer content, nor the
 * column of a field that the given row lacks. Writing the same rows again changes only `_leadsync_synced_at`.
 * @throws NotWritten, or the error from PostgreSQL; the caller must then roll back
 */
export async function upsert(
  client: ClientBase,
  schema: string,
  rows: readonly MappedRow[],
  columns: FieldColumns,
): Promise<void> {
  // One statement writes the same columns for all of its rows. Unmapped leads and updates may lack fields that other rows have.
  const alike = Map.groupBy(rows, ({ fields }) => JSON.stringify([...fields.keys()]));
  for (const group of alike.values()) await upsertAlike(client, schema, group, columns);
}

async function upsertAlike(
  client: ClientBase,
  schema: string,
  rows: readonly MappedRow[],
  columns: FieldColumns,
): Promise<void> {
  // Always in the same order, so that two writers of the same leads do not deadlock.
  const keyed = rows
    .map((row) => ({ row, key: keyOf(row.columns) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const sorted = keyed.map(({ row }) => row);
  const fields = [...(rows[0]?.fields.keys() ?? [])].map((name) => ({
    name,
    type: typeName(columns.get(name) ?? 'text'),
  }));
  const { rows: written } = await client.query(upsertLeads(quoted(schema), fields), [
    ...names.map((name) =>
      arrayParameter(
        leadColumns[name],
        sorted.map((row) => row.columns[name]),
      ),
    ),
    ...fields.map(({ name, type }) =>
      arrayParameter(
        type,
        sorted.map((row) => row.fields.get(name) ?? null),
      ),
    ),
  ]);
  const keys = new Set(written.map(keyOf));
  const unwritten = keyed.filter(({ key }) => !keys.has(key));
  await expectStored(
    client,
    quoted(schema),
    unwritten.map(({ row }) => row),
  );
}

function upsertLeads(schema: string, fields: readonly { name: string; type: string }[]): string {
  const types = [...names.map((name) => leadColumns[name]), ...fields.map(({ type }) => type)];
  const arrays = types.map((type, index) => `$${index + 1}::${type}[]`);
  const ofFields = fields.map(({ name }) => quoted(name));
  const changing = names.filter((name) => !['source', 'id', '_leadsync_first_seen_at'].includes(name));
  return `
    INSERT INTO ${schema}.leads AS stored (${[...names, ...ofFields].join(', ')}, _leadsync_synced_at)
    SELECT given.*, now() FROM unnest(${arrays.join(', ')}) AS given
    ON CONFLICT (source, id) DO UPDATE SET
      ${[...changing, ...ofFields].map((name) => `${name} = excluded.${name}`).join(', ')}, _leadsync_synced_at = excluded._leadsync_synced_at
    WHERE NOT ${isOlder('excluded')}
    RETURNING source, id`;
}

/**
 * Returns SQL for whether a row is older than the stored one: it has a lower version *and* is not later; at equal times the version decides.
 * Neither condition is sufficient alone. Within one ledger, versions increase even if the clock was set back, and the ledger keeps a lead's
 * deliveries in order. A restored ledger continues from an earlier version, and a new one from 1: only the time shows that the content that
 * they record afterwards is newer.
 */
function isOlder(given: string): string {
  return `(${given}._leadsync_version < stored._leadsync_version
    AND ${given}._leadsync_changed_at <= stored._leadsync_changed_at)`;
}

/**
 * Verifies that the table has each row that was not written, or a newer one. The upsert has locked the rows that it left alone, so they
 * cannot have changed. If a row is missing, something discarded it, for example a trigger.
 * @throws NotWritten
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

function keyOf({ source, id }: Pick<LeadRow['columns'], 'source' | 'id'>): string {
  return `${source} ${id}`;
}
