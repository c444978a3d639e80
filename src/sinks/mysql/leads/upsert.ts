import type { LeadColumn } from '../../table/lead-row.ts';
import { NotWritten } from '../../table/not-written-error.ts';
import type { Row, Session } from '../connection/session.ts';
import type { OwnTables } from '../schema/own-tables.ts';
import { leadColumns } from '../schema/table-columns.ts';
import { quoted } from '../sql/identifier.ts';
import { statementParts } from '../sql/statement-rows.ts';
import type { LeadValues } from './lead-values.ts';
import { keyOf, type LeadRef, rowsOfLeads } from './rows-of-leads.ts';
import { lostKey, writeAnswers } from './write-answers.ts';

const names = (Object.keys(leadColumns) as (keyof typeof leadColumns)[]).filter(
  (name) => name !== '_leadsync_synced_at',
);
/** The columns that newer content changes, except the version. */
const changing = names.filter(
  (name) => !['source', 'id', '_leadsync_first_seen_at', '_leadsync_version'].includes(name),
);

/**
 * Upserts leads and their answers inside the caller's transaction; a lead may occur only once. Does not overwrite a stored row that has newer
 * content, nor the column of a field that the given lead lacks. Writing the same leads again changes only `_leadsync_synced_at`. @throws NotWritten,
 * TooLarge, or the error from the server; the caller must then roll back
 */
export async function upsert(
  session: Session,
  tables: OwnTables,
  leads: readonly LeadValues[],
): Promise<void> {
  // One statement writes the same columns for all of its rows. Unmapped leads and updates may lack fields that other rows have.
  const alike = Map.groupBy(sorted(leads), ({ fields }) => JSON.stringify([...fields.keys()]));
  for (const group of alike.values()) {
    const fields = [...(group[0]?.fields.keys() ?? [])];
    const rows = group.map(({ columns, fields: given }) => [
      ...names.map((name) => columns[name]),
      ...fields.map((name) => given.get(name) ?? null),
    ]);
    for (const part of statementParts(rows, session.maxPacketBytes))
      await session.run(upsertStatement(tables.leads.sql, part.length, fields), part.flat());
  }
  await writeAnswers(session, tables.answers.sql, await storedOf(session, tables.leads.sql, leads));
}

/** Returns the leads in a fixed order, so that two writers of the same leads do not deadlock. */
function sorted(leads: readonly LeadValues[]): readonly LeadValues[] {
  return leads
    .map((lead) => ({ lead, key: keyOf(refOf(lead)) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ lead }) => lead);
}

/**
 * Returns the statement that upserts rows. MySQL assigns from left to right, so the version comes first: afterwards it equals the given
 * version if, and only if, the given content is to be written, and every other column depends on it. If another unique key leads to the row
 * of another lead, that row stays as it is.
 */
function upsertStatement(table: string, rows: number, fields: readonly string[]): string {
  const columns = [...names, ...fields].map(quoted);
  const row = `(${columns.map(() => '?').join(', ')}, UTC_TIMESTAMP(6))`;
  const isSame = 'source = VALUES(source) AND id = VALUES(id)';
  const follow = [...changing, ...fields, '_leadsync_synced_at'].map(quoted);
  return `INSERT INTO ${table} (${columns.join(', ')}, _leadsync_synced_at) VALUES ${Array(rows).fill(row).join(', ')}
    ON DUPLICATE KEY UPDATE
      _leadsync_version = IF(${isSame} AND NOT (${IS_OLDER}), VALUES(_leadsync_version), _leadsync_version),
      ${follow.map((name) => `${name} = IF(${isSame} AND _leadsync_version = VALUES(_leadsync_version), VALUES(${name}), ${name})`).join(', ')}`;
}

/**
 * SQL for whether the given row is older than the stored one: it has a lower version *and* is not later. Neither condition is sufficient
 * alone: see "How leads are written" in the README.
 */
const IS_OLDER =
  'VALUES(_leadsync_version) < _leadsync_version AND VALUES(_leadsync_changed_at) <= _leadsync_changed_at';

/**
 * Returns the leads whose content the table now has. The others are older than their stored rows. The upsert has locked the rows, so they
 * cannot have changed in the meantime. If a row is missing or has other content, something discarded the lead, for example a trigger.
 * @throws NotWritten, or SinkUnavailable if the table has a lead twice
 */
async function storedOf(
  session: Session,
  table: string,
  leads: readonly LeadValues[],
): Promise<readonly LeadValues[]> {
  const found = await rowsOfLeads(
    session,
    leads.map(refOf),
    (where) =>
      `SELECT source, id, _leadsync_version AS version, CAST(_leadsync_changed_at AS CHAR) AS changed, _leadsync_hash AS hash FROM ${table} WHERE ${where}`,
  );
  const stored = new Map(
    found.map((row) => [keyOf({ source: String(row['source']), id: String(row['id']) }), row]),
  );
  if (stored.size < found.length) throw lostKey(table);
  return leads.filter((lead) => {
    const row = stored.get(keyOf(refOf(lead)));
    if (row && hasContentOf(lead, row)) return true;
    if (row && isOlder(lead, row)) return false;
    throw new NotWritten(table);
  });
}

function hasContentOf({ columns }: LeadValues, row: Row): boolean {
  return Number(row['version']) === columns._leadsync_version && row['hash'] === columns._leadsync_hash;
}

function isOlder({ columns }: LeadValues, row: Row): boolean {
  return (
    Number(columns._leadsync_version) < Number(row['version']) &&
    String(columns._leadsync_changed_at) <= String(row['changed'])
  );
}

function refOf({ columns }: { readonly columns: Readonly<Record<LeadColumn, unknown>> }): LeadRef {
  return { source: String(columns.source), id: String(columns.id) };
}
