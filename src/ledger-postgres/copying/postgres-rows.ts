import type { PoolClient } from 'pg';
import type { CopiedTable, TableDigest, TableProgress } from '../../ledger/contract/ledger-copy.ts';

/** Returns the names of a table's columns in SQL. */
export function columnsOf(table: CopiedTable): string[] {
  return table.columns.map(([name]) => `"${name}"`);
}

/** Returns the query for the rows of a table after a key, in the order of the key, in which texts are ordered by their bytes, as in SQLite. */
export function rowsQuery(table: CopiedTable, after: TableProgress['after']) {
  const isText = new Set(table.columns.filter(([, kind]) => kind === 'text').map(([name]) => name));
  const key = table.key.map((name) => (isText.has(name) ? `${name} COLLATE "C"` : name)).join(', ');
  const given = table.key.map((name, index) => `$${index + 1}::${isText.has(name) ? 'text' : 'bigint'}`);
  const where = after ? ` WHERE (${key}) > (${given.join(', ')})` : '';
  return {
    name: `copy${table.name}${after ? '-on' : ''}`,
    text: `SELECT ${columnsOf(table).join(', ')} FROM ${table.name}${where} ORDER BY ${key}`,
    values: [...(after ?? [])],
  };
}

/** Returns the digest of a table, which the server computes: the same sum as in ledger/copying/sqlite-rows.ts. */
export async function digestOf(client: PoolClient, table: CopiedTable): Promise<TableDigest> {
  // Reading the whole table is not the last resort here.
  await client.query('SET LOCAL enable_seqscan = on');
  const values = table.columns.map(([name, kind]) =>
    canonical(kind === 'flag' ? `"${name}"::int` : `"${name}"`),
  );
  const { rows } = await client.query<{ rows: string; sum: string }>(
    `SELECT count(*)::text AS rows, coalesce(sum(
       ('x' || encode(substr(sha256(convert_to(${values.join(' || ')}, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint), 0)::text AS sum
     FROM ${table.name}`,
  );
  return { rows: Number(rows[0]?.rows), sum: String(rows[0]?.sum) };
}

function canonical(value: string): string {
  return `coalesce(octet_length(${value}::text) || ':' || ${value}::text, '-')`;
}
