import type { DatabaseStats } from '../../ledger/contract/status-rows.ts';
import { quoted } from '../../postgres/identifier.ts';
import { statement, texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** Settings that decide how fast the server is, what it keeps and when it gives up. None of them names a role, a host or a file. */
const SETTINGS = [
  'autovacuum',
  'autovacuum_naptime',
  'autovacuum_vacuum_cost_delay',
  'autovacuum_vacuum_cost_limit',
  'default_transaction_isolation',
  'default_transaction_read_only',
  'effective_cache_size',
  'fsync',
  'full_page_writes',
  'idle_in_transaction_session_timeout',
  'lc_collate',
  'lock_timeout',
  'maintenance_work_mem',
  'max_connections',
  'max_wal_size',
  'random_page_cost',
  'server_encoding',
  'shared_buffers',
  'statement_timeout',
  'synchronous_commit',
  'temp_file_limit',
  'transaction_timeout',
  'wal_level',
  'work_mem',
];

/** Returns the version, sizes, row counts, settings and schema of the ledger, for a support bundle. Contains no personal data. */
export async function databaseStats(tx: Transaction): Promise<DatabaseStats> {
  const { version = '', shape = 0 } = (await tx.first(SERVER)) ?? {};
  const found = await tx.rows(TABLES);
  const rows: Record<string, number> = {};
  for (const { name } of found) {
    const count = statement<{ rows: number }>(
      `count-${name}`,
      `SELECT count(*) AS rows FROM ${quoted(name)}`,
    );
    rows[name] = (await tx.first(count))?.rows ?? 0;
  }
  const settings = (await tx.rows(SERVER_SETTINGS, [texts(SETTINGS)])).map(({ name, value }) => [
    name,
    value,
  ]);
  return {
    sqlite: undefined,
    postgres: version,
    shape,
    bytes: found.reduce((sum, { bytes }) => sum + bytes, 0),
    freeBytes: undefined,
    rows,
    tables: Object.fromEntries(found.map(({ name, bytes, dead }) => [name, { bytes, deadRows: dead }])),
    settings: Object.fromEntries(settings),
    schema: (await tx.rows(SCHEMA)).map(({ sql }) => sql),
  };
}

const OF_LEDGER = 'c.relnamespace = current_schema()::regnamespace';

const SERVER = statement<{ version: string; shape: number }>(
  'server-stats',
  `SELECT split_part(current_setting('server_version'), ' ', 1) AS version, (SELECT shape FROM _ledger) AS shape`,
);
const TABLES = statement<{ name: string; bytes: number; dead: number }>(
  'ledger-tables',
  `SELECT c.relname AS name, pg_total_relation_size(c.oid) AS bytes, pg_stat_get_dead_tuples(c.oid) AS dead
   FROM pg_class c WHERE ${OF_LEDGER} AND c.relkind = 'r' ORDER BY c.relname`,
);
const SERVER_SETTINGS = statement<{ name: string; value: string }>(
  'server-settings',
  `SELECT s.name, s.reset_val || coalesce(' × ' || s.unit, '') AS value FROM pg_settings s WHERE s.name = ANY($1::text[]) ORDER BY s.name`,
);
const SCHEMA = statement<{ sql: string }>(
  'ledger-schema',
  `SELECT 'TABLE ' || c.relname || ' (' || string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum) || ')' AS sql
   FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped WHERE ${OF_LEDGER} AND c.relkind = 'r'
   GROUP BY c.relname
   UNION ALL SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE ${OF_LEDGER} ORDER BY sql`,
);
