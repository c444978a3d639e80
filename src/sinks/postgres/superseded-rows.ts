import type { ClientBase } from 'pg';
import type { HistoryRow } from '../../leads/history.ts';
import { quoted } from './identifier.ts';
import { placeOf, valuesOf } from './mirrored-columns.ts';
import { rowsByIndex } from './rows-by-index.ts';

/**
 * Closes versions that are no longer current: the one before each given version, and, where the row came from a ledger that
 * was lost, the ones after it.
 */
export async function closeVersions(
  client: ClientBase,
  schema: string,
  ledger: string,
  rows: readonly HistoryRow[],
): Promise<void> {
  const versions = `${quoted(schema)}.lead_versions`;
  const [version, isCurrent] = [placeOf('lead_versions', 'version'), placeOf('lead_versions', 'is_current')];
  const changed = rows.filter(({ values }) => Number(values[version]) > 1);
  const current = rows.filter(({ values }) => Number(values[isCurrent]) === 1);
  const given = 'unnest($1::text[], $2::bigint[], $3::integer[]) AS new (source, lead_id, version)';
  const sameLead = 'stored.source = new.source AND stored.lead_id = new.lead_id AND stored.is_current';
  const keys = (some: readonly HistoryRow[]) =>
    valuesOf('lead_versions', ['source', 'lead_id', 'version'], some);
  if (changed.length > 0)
    await client.query(
      `UPDATE ${versions} old SET is_current = false, valid_to = (SELECT next.valid_from FROM ${versions} next
        WHERE next.source = old.source AND next.lead_id = old.lead_id AND next.version = old.version + 1)
      WHERE old.ctid = ${rowsByIndex(versions, given, `${sameLead} AND stored.version = new.version - 1`)}`,
      keys(changed),
    );
  if (current.length > 0)
    await client.query(
      `UPDATE ${versions} old SET is_current = false, valid_to = old.valid_from
      WHERE old.ctid = ${rowsByIndex(versions, given, `${sameLead} AND stored.version > new.version AND stored._leadsync_ledger <> $4`)}`,
      [...keys(current), ledger],
    );
}
