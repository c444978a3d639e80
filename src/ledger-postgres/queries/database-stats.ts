import type { DatabaseStats } from '../../ledger/contract/status-rows.ts';
import { quoted } from '../../postgres/identifier.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** Returns the version, sizes, row counts and schema of the ledger, for a support bundle. Contains no personal data. */
export async function databaseStats(tx: Transaction): Promise<DatabaseStats> {
  const { version = '', shape = 0, bytes = 0 } = (await tx.first(SERVER)) ?? {};
  const rows: Record<string, number> = {};
  for (const { name } of await tx.rows(TABLES)) {
    const count = statement<{ rows: number }>(
      `count-${name}`,
      `SELECT count(*) AS rows FROM ${quoted(name)}`,
    );
    rows[name] = (await tx.first(count))?.rows ?? 0;
  }
  const schema = (await tx.rows(SCHEMA)).map(({ sql }) => sql);
  return { sqlite: undefined, postgres: version, shape, bytes, freeBytes: undefined, rows, schema };
}

const OF_LEDGER = 'c.relnamespace = current_schema()::regnamespace';

const SERVER = statement<{ version: string; shape: number; bytes: number }>(
  'server-stats',
  `SELECT current_setting('server_version') AS version, (SELECT shape FROM _ledger) AS shape,
   (SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c WHERE ${OF_LEDGER} AND c.relkind = 'r') AS bytes`,
);
const TABLES = statement<{ name: string }>(
  'ledger-tables',
  `SELECT c.relname AS name FROM pg_class c WHERE ${OF_LEDGER} AND c.relkind = 'r' ORDER BY c.relname`,
);
const SCHEMA = statement<{ sql: string }>(
  'ledger-schema',
  `SELECT 'TABLE ' || c.relname || ' (' || string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum) || ')' AS sql
   FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped WHERE ${OF_LEDGER} AND c.relkind = 'r'
   GROUP BY c.relname
   UNION ALL SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE ${OF_LEDGER} ORDER BY sql`,
);
