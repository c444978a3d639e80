import type { PoolClient, QueryResult } from 'pg';
import { QueryRefused } from '../ledger/contract/ledger-tables.ts';
import { quoted } from '../postgres/identifier.ts';

/**
 * Begins a transaction that reads one snapshot for at most `timeoutMs`, and cannot become one that writes. Values look the same whatever the user's
 * settings are. Returns the id of the server's process.
 * @throws QueryRefused if the user could read or write files of the server, or run programs on it, which a transaction that only reads does not prevent
 */
export async function beginQuery(client: PoolClient, schema: string, timeoutMs: number): Promise<number> {
  const limit = String(timeoutMs);
  const settings = [...Object.entries(SETTINGS), ...LIMITS.map((name) => [name, limit] as const)];
  const values = settings.map(([name, value]) => `('${name}', '${value}')`).join(', ');
  // One message, so that a limit of the user for idle transactions cannot end this one before it is lifted.
  const sql = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path = ${quoted(schema)}, pg_catalog;
    SELECT set_config(s.name, v.value, true) FROM (VALUES ${values}) v (name, value) JOIN pg_catalog.pg_settings s ON lower(s.name) = v.name; ${SESSION}`;
  const results = (await client.query(sql)) as unknown as QueryResult<Session>[];
  const [session] = results.at(-1)?.rows ?? [];
  const { pid, powers } = session as Session;
  if (powers === null) return pid;
  throw new QueryRefused(
    `The user of the ledger is ${powers}, and could use files of the server in a query. Set ledger.url to a user without these rights, or query the schema with psql as a user who may only read: deploy/postgres/reader-login.sql creates one.`,
  );
}

interface Session {
  readonly pid: number;
  readonly powers: string | null;
}

const SETTINGS = {
  timezone: 'UTC',
  datestyle: 'ISO, YMD',
  intervalstyle: 'iso_8601',
  bytea_output: 'hex',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
};

/** Limits of the server that end a statement or a transaction, in ms. Older servers lack some of them. */
const LIMITS = ['statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout'];

/**
 * Which rights of the user reach beyond the database, in words; null if none do. A member of a role may get its rights with SET ROLE, even if it does not
 * inherit them. A superuser counts as a member of every role.
 */
export const POWERS = `(SELECT CASE WHEN bool_or(r.rolsuper) THEN 'a superuser'
    ELSE 'a member of ' || string_agg(r.rolname, ', ' ORDER BY r.rolname) END FROM pg_catalog.pg_roles r
  WHERE pg_has_role(session_user, r.oid, 'MEMBER') AND (r.rolsuper
    OR r.rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')))`;

const SESSION = `SELECT pg_backend_pid() AS pid, ${POWERS} AS powers`;
