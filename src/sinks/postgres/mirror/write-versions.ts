import type { ClientBase } from 'pg';
import type { HistoryRow } from '../../../leads/mirrored-history.ts';
import { ledgerNumber } from './ledgers.ts';
import { columnValue, parameterType, placeOf, valuesOf } from './mirrored-columns.ts';

/** The columns of `_versions` with their types, by their names in the ledger. */
const COLUMNS = {
  _leadsync_no: ['no', 'bigint'],
  lead_id: ['lead_id', 'bigint'],
  valid_from: ['valid_from', 'timestamptz'],
  valid_to: ['valid_to', 'timestamptz'],
  poll_id: ['poll_id', 'bigint'],
  version: ['version', 'integer'],
  is_current: ['is_current', 'boolean'],
  source: ['source', 'text'],
  _leadsync_hash: ['hash', 'text'],
  changed_fields: ['changed_fields', 'json'],
} as const;
const NAMES = Object.keys(COLUMNS);
const STORED = Object.values(COLUMNS).map(([name]) => name);
const COMPARED = [...STORED.filter((name) => name !== 'changed_fields'), 'ledger_no'];
const given = Object.values(COLUMNS).map(([, type], at) => `$${at + 1}::${parameterType(type)}[]`);
const columnValues = Object.values(COLUMNS).map(([name, type]) => columnValue(type, name));
const row = (from: string) => COMPARED.map((name) => `${from}.${name}`).join(', ');

const UPSERT = `
  INSERT INTO _versions AS stored (${STORED.join(', ')}, ledger_no)
  SELECT ${columnValues.join(', ')}, $${NAMES.length + 1}::integer FROM unnest(${given.join(', ')}) AS given (${STORED.join(', ')})
  ON CONFLICT (lead_id, source, version) DO UPDATE SET
    ${[...STORED, 'ledger_no'].map((name) => `${name} = excluded.${name}`).join(', ')}
  WHERE (${row('stored')}) IS DISTINCT FROM (${row('excluded')})`;

/** Upserts versions without their contents. The `search_path` must be the schema. */
export async function writeVersions(
  client: ClientBase,
  ledger: string,
  rows: readonly HistoryRow[],
): Promise<void> {
  const { ledgerNo, isOneOfSeveral } = await ledgerNumber(client, ledger);
  await client.query(UPSERT, [...valuesOf('lead_versions', NAMES, rows), ledgerNo]);
  await closeVersions(client, isOneOfSeveral ? ledgerNo : undefined, rows);
}

/**
 * Closes versions that are no longer current: the version before each given version, and the versions after it that another ledger wrote.
 * `ledgerNo` is undefined if no other ledger has written to the schema.
 */
async function closeVersions(
  client: ClientBase,
  ledgerNo: number | undefined,
  rows: readonly HistoryRow[],
): Promise<void> {
  const [version, isCurrent] = [placeOf('lead_versions', 'version'), placeOf('lead_versions', 'is_current')];
  const changed = rows.filter(({ values }) => Number(values[version]) > 1);
  const current = rows.filter(({ values }) => Number(values[isCurrent]) === 1);
  const news = 'unnest($1::text[], $2::bigint[], $3::integer[]) AS new (source, lead_id, version)';
  const sameLead = 'stored.source = new.source AND stored.lead_id = new.lead_id AND stored.is_current';
  const keys = (some: readonly HistoryRow[]) =>
    valuesOf('lead_versions', ['source', 'lead_id', 'version'], some);
  if (changed.length > 0)
    await client.query(
      `UPDATE _versions old SET is_current = false, valid_to = (SELECT next.valid_from FROM _versions next
        WHERE next.source = old.source AND next.lead_id = old.lead_id AND next.version = old.version + 1)
      WHERE old.ctid = ${rowsByIndex('_versions', news, `${sameLead} AND stored.version = new.version - 1`)}`,
      keys(changed),
    );
  if (current.length > 0 && ledgerNo !== undefined)
    await client.query(
      `UPDATE _versions old SET is_current = false, valid_to = old.valid_from
      WHERE old.ctid = ${rowsByIndex('_versions', news, `${sameLead} AND stored.version > new.version AND stored.ledger_no <> $4`)}`,
      [...keys(current), ledgerNo],
    );
}

/**
 * Returns SQL for the stored rows that match the given rows, with an index lookup for each given row. With a plain join, PostgreSQL would
 * read the whole table for each batch of rows until it has statistics, which new tables lack in the first round.
 */
function rowsByIndex(table: string, given: string, condition: string): string {
  return `ANY (ARRAY(SELECT found.ctid FROM ${given}
    CROSS JOIN LATERAL (SELECT stored.ctid FROM ${table} stored WHERE ${condition} OFFSET 0) found))`;
}

/** Returns the numbers of the given versions whose contents are missing. The `search_path` must be the schema. */
export async function missingContents(client: ClientBase, rows: readonly HistoryRow[]): Promise<number[]> {
  const { rows: found } = await client.query(
    `SELECT g.no FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[]) AS g (source, lead_id, hash, no)
    -- An index lookup for each: without statistics PostgreSQL would read the whole table for every part.
    WHERE (SELECT true FROM leads l WHERE l.source = g.source AND l.id = g.lead_id AND l._leadsync_hash = g.hash) IS NULL
      AND (SELECT true FROM _contents c WHERE c.source = g.source AND c.lead_id = g.lead_id AND c.hash = g.hash) IS NULL
    ORDER BY g.no`,
    [...valuesOf('lead_versions', ['source', 'lead_id', '_leadsync_hash'], rows), rows.map(({ no }) => no)],
  );
  return found.map(({ no }) => Number(no));
}

/** Writes the content of versions to `_contents`. Skips versions whose content was removed, for which the ledger has only the lead's id. */
export async function writeContents(client: ClientBase, rows: readonly HistoryRow[]): Promise<void> {
  const [raw, lead] = [placeOf('lead_contents', 'raw'), placeOf('lead_contents', 'lead_id')];
  const kept = rows.filter(({ values }) => values[raw] !== `{"id":${values[lead]}}`);
  if (kept.length === 0) return;
  const names = ['source', 'lead_id', '_leadsync_hash', '_leadsync_replaced', 'raw', '_leadsync_original'];
  await client.query(
    `INSERT INTO _contents (source, lead_id, hash, replaced, raw, original)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::boolean[], $5::json[], $6::text[]) ON CONFLICT DO NOTHING`,
    valuesOf('lead_contents', names, kept),
  );
}
