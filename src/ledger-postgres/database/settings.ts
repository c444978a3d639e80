import { quoted } from '../../postgres/identifier.ts';
import { statement } from './statement.ts';

/** Settings by name. */
export type Settings = Readonly<Record<string, string>>;

/** Maximum time that a statement waits for a lock. */
export const LOCK_TIMEOUT = '10s';

/** Returns the settings of every connection. The first schema of the search path is the one of the ledger. */
export function settingsFor(schema: string): Settings {
  return {
    search_path: `${quoted(schema)},pg_catalog`,
    timezone: 'UTC',
    // Plans that are ruled out count as expensive, and compiling an expensive plan takes longer than every statement of the ledger.
    jit: 'off',
    statement_timeout: '30000',
    lock_timeout: LOCK_TIMEOUT,
    // PostgreSQL 17 and later.
    transaction_timeout: '30000',
    idle_in_transaction_session_timeout: '10000',
    tcp_keepalives_idle: '5',
    tcp_keepalives_interval: '2',
    tcp_keepalives_count: '3',
  };
}

/**
 * Settings of the connections for polls and deliveries. They force index scans and generic plans, because statistics are wrong for tables that are
 * empty one minute and have a million rows the next.
 */
export const WRITING = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  // A bitmap scan does not mark index entries of deleted rows as dead. Each claim would read again every batch that has ended since the last vacuum.
  enable_bitmapscan: 'off',
};

/** Settings of the connections for pages and the API: PostgreSQL plans each query for the filters that it has. */
export const ASKING = { ...WRITING, plan_cache_mode: 'force_custom_plan', enable_bitmapscan: 'on' };

/** Allows bitmap scans until the end of the transaction, for a statement that reads a BRIN index. */
export const ALLOW_BITMAPS = statement('allow-bitmaps', "SELECT set_config('enable_bitmapscan', 'on', true)");

/** Removes the time limits of statements and transactions: until the end of the transaction if $1 is true, otherwise for the session. */
export const WITHOUT_TIMEOUTS =
  "SELECT set_config(name, '0', $1) FROM pg_settings WHERE name IN ('statement_timeout', 'transaction_timeout')";
