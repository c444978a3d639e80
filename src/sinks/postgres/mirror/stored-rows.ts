import type { ClientBase } from 'pg';
import { relations } from '../../../catalog/catalog.ts';
import { type Mirrored, mirroredTable } from '../../../catalog/mirrored-tables.ts';
import type {
  FormerName,
  HistoryRow,
  Overview,
  RenamedSink,
  StoredValue,
} from '../../../leads/mirrored-history.ts';
import { quoted } from '../../../postgres/identifier.ts';
import { eraseLeads, type Key } from '../leads/erase.ts';
import { columnValue, parameter, parameterType, placeOf, TYPES, valuesOf } from './mirrored-columns.ts';
import { storageOf } from './table-storage.ts';
import { writeDeliveries } from './write-deliveries.ts';
import { writeContents, writeVersions } from './write-versions.ts';

/** Returns the greatest number among a ledger's rows in a table; 0 if there are no rows. */
export async function lastNumber(
  client: ClientBase,
  schema: string,
  table: string,
  ledger: string,
): Promise<number> {
  const { rows: stored, number, ofLedger } = storageOf(schema, table);
  const { rows } = await client.query(
    `SELECT coalesce(max(${number}), 0) AS no FROM ${stored} WHERE ${ofLedger}`,
    [ledger],
  );
  return Number(rows[0].no);
}

/** Whether the ledger's stored row with this row's number has the same values in the columns that never change. */
export async function hasRow(
  client: ClientBase,
  schema: string,
  table: string,
  ledger: string,
  row: HistoryRow,
): Promise<boolean> {
  const { number, fixed, columns, timesInMs = false } = mirroredTable(table);
  const conditions = fixed.map((name, at) => {
    const type = TYPES[columns[placeOf(table, name)]?.type ?? 'text'];
    const given = (as: string) => `($${at + 3}::${as}[])[1]`;
    return `${name} IS NOT DISTINCT FROM ${timesInMs ? columnValue(type, given(parameterType(type))) : given(type)}`;
  });
  const { rowCount } = await client.query(
    `SELECT FROM ${storageOf(schema, table).shown} WHERE _leadsync_ledger = $1 AND ${number} = $2 AND ${conditions.join(' AND ')}`,
    [ledger, row.no, ...valuesOf(table, fixed, [row])],
  );
  return rowCount === 1;
}

/** Reassigns the last rows of a ledger, up to `count`, to a lost ledger. Deletes them instead if they are derived from other rows. */
export async function markRowsLost(
  client: ClientBase,
  schema: string,
  table: string,
  ledger: string,
  count: number,
): Promise<void> {
  const { rows, number, ofLedger, assignLost } = storageOf(schema, table);
  const first = `SELECT min(${number}) AS no FROM (SELECT ${number} FROM ${rows} WHERE ${ofLedger} ORDER BY ${number} DESC LIMIT $2) last`;
  const lost = assignLost === undefined ? undefined : await assignLost(client, first, [ledger, count]);
  const change = mirroredTable(table).derived
    ? `DELETE FROM ${rows}`
    : `UPDATE ${rows} SET ${lost ?? "_leadsync_ledger = $1 || '-lost'"}`;
  await client.query(`${change} WHERE ${ofLedger} AND ${number} >= (${first})`, [ledger, count]);
}

/** Returns the numbers of rows that may have changed since they were written, in ascending order. */
export async function unsettledNumbers(
  client: ClientBase,
  schema: string,
  table: string,
  { ledger, after, limit }: { ledger: string; after: number; limit: number },
): Promise<number[]> {
  const { rows: stored, number, ofLedger, unsettled } = storageOf(schema, table);
  if (unsettled === undefined) return [];
  await client.query(`SET LOCAL search_path = ${quoted(schema)}`);
  const { rows } = await client.query(
    `SELECT ${number} AS no FROM ${stored} WHERE ${ofLedger} AND ${number} > $2 AND ${unsettled}
    ORDER BY ${number} LIMIT $3`,
    [ledger, after, limit],
  );
  return rows.map(({ no }) => Number(no));
}

/** Upserts rows. Writing the same rows again changes nothing. */
export async function writeRows(
  client: ClientBase,
  schema: string,
  table: string,
  ledger: string,
  rows: readonly HistoryRow[],
): Promise<void> {
  await client.query(`SET LOCAL search_path = ${quoted(schema)}`);
  if (table === 'deliveries') return writeDeliveries(client, ledger, rows);
  if (table === 'lead_versions') return writeVersions(client, ledger, rows);
  if (table === 'lead_contents') return writeContents(client, rows);
  const { columns, key } = mirroredTable(table);
  const places = key.map((name) => placeOf(table, name));
  const keyOf = ({ values }: HistoryRow) => places.map((at) => values[at]).join('\0');
  const unique = [...new Map(rows.map((row) => [keyOf(row), row])).values()];
  await client.query(upsertSql(storageOf(schema, table).rows, mirroredTable(table), columns.length), [
    ...valuesOf(
      table,
      columns.map(({ name }) => name),
      unique,
    ),
    ledger,
  ]);
  if (table === '_erased') await eraseLeads(client, schema, erasedKeys(unique));
}

/**
 * Returns the former names of sinks that PostgreSQL does not have under their present names. A sink that PostgreSQL has under its present
 * name needs no search through all deliveries, because an earlier round has renamed it.
 */
export async function formerNames(
  client: ClientBase,
  schema: string,
  ledger: string,
  renamed: readonly RenamedSink[],
): Promise<FormerName[]> {
  await client.query(`SET LOCAL search_path = ${quoted(schema)}`);
  const { rows } = await client.query<FormerName>(
    `WITH missing AS MATERIALIZED (
      SELECT r.* FROM unnest($2::text[], $3::text[]) AS r (sink, named) WHERE NOT EXISTS (SELECT FROM _sinks s WHERE s.sink = r.sink)
    )
    SELECT m.sink, f.sink AS former FROM missing m CROSS JOIN LATERAL (
      SELECT m.named AS sink
      UNION SELECT n.sink FROM _sink_names n WHERE n.named = m.named AND EXISTS (
        SELECT FROM _deliveries d JOIN _ledgers g ON g.ledger_no = d.ledger_no
        WHERE d.sink_no = n.sink_no AND g.ledger = $1 AND NOT g.lost)
    ) f WHERE f.sink <> m.sink`,
    [ledger, renamed.map(({ sink }) => sink), renamed.map(({ named }) => named)],
  );
  return rows;
}

/** Renames the rows of sinks. Skips a row if another sink now has the former name, because the row then belongs to that sink. */
async function renameSinks(
  client: ClientBase,
  schema: string,
  sinks: Overview['sinks'],
  former: readonly FormerName[],
): Promise<void> {
  const names = sinks.map(([name]) => name);
  for (const one of former)
    if (!names.includes(one.former))
      await client.query(
        `UPDATE ${quoted(schema)}._sinks SET sink = $1 WHERE sink = $2 AND NOT EXISTS (SELECT FROM ${quoted(schema)}._sinks WHERE sink = $1)`,
        [one.sink, one.former],
      );
}

/** Renames sinks, writes the present state of sinks and sources, and deletes client keys that are no longer valid. */
export async function writeOverview(
  client: ClientBase,
  schema: string,
  ledger: string,
  { sinks, sources, firstClientKey }: Overview,
  former: readonly FormerName[],
): Promise<void> {
  await renameSinks(client, schema, sinks, former);
  await writePresent(client, `${quoted(schema)}._sinks`, 'v_sink_health', sinks);
  await writePresent(client, `${quoted(schema)}._sources`, 'v_freshness', sources);
  await client.query(
    `DELETE FROM ${quoted(schema)}._client_keys WHERE _leadsync_ledger = $1 AND key_no < coalesce($2, 9223372036854775807)`,
    [ledger, firstClientKey ?? null],
  );
}

function erasedKeys(rows: readonly HistoryRow[]): Key[] {
  return rows.map(({ values: [, source, id] }) => ({ source: String(source), id: String(id) }));
}

/**
 * Returns SQL that writes only rows that differ from the stored rows. The comparison ignores columns of type json, which PostgreSQL cannot
 * compare and whose values never change for a key.
 */
function upsertSql(table: string, { key, columns }: Mirrored, count: number): string {
  const names = columns.map((column) => column.name);
  const compared = columns.filter(({ type }) => type !== 'json').map((column) => column.name);
  const row = (from: string) => compared.map((one) => `${from}.${one}`).join(', ');
  return `
    INSERT INTO ${table} AS stored (${names.join(', ')}, _leadsync_ledger)
    SELECT given.*, $${count + 1}::text FROM unnest(${columns.map(({ type }, at) => `$${at + 1}::${TYPES[type]}[]`).join(', ')}) AS given
    ON CONFLICT (${key.join(', ')}) DO UPDATE SET
      ${names.map((one) => `${one} = excluded.${one}`).join(', ')}, _leadsync_ledger = excluded._leadsync_ledger
    WHERE (${row('stored')}, stored._leadsync_ledger) IS DISTINCT FROM (${row('excluded')}, excluded._leadsync_ledger)`;
}

/** Writes rows from a view in the ledger to the table behind the same view in PostgreSQL. Omits `age_seconds`, which PostgreSQL computes. */
async function writePresent(
  client: ClientBase,
  table: string,
  view: string,
  rows: readonly (readonly StoredValue[])[],
): Promise<void> {
  const columns = (relations.find(({ name }) => name === view)?.columns ?? [])
    .map((column, at) => ({ ...column, at }))
    .filter(({ name }) => name !== 'age_seconds');
  const [key, ...rest] = columns.map(({ name }) => name);
  await client.query(
    `INSERT INTO ${table} (${[key, ...rest].join(', ')})
    SELECT * FROM unnest(${columns.map(({ type }, at) => `$${at + 1}::${TYPES[type]}[]`).join(', ')})
    ON CONFLICT (${key}) DO UPDATE SET ${rest.map((name) => `${name} = excluded.${name}`).join(', ')}`,
    columns.map((column) =>
      parameter(
        column.type,
        rows.map((row) => row[column.at] ?? null),
      ),
    ),
  );
}
