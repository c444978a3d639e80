import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { Cell, QueryValues } from '../../src/ledger/contract/ledger-tables.ts';
import { runSql } from '../../src/ledger-postgres/run-sql.ts';
import { ids, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { uniqueName } from '../support/servers/services.ts';
import { until } from '../support/time/until.ts';
import { PostgresStore } from './postgres-store.ts';

const MINUTE = 60_000;

async function aLedger() {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list(ids(1, 500));
  const { reader, url } = await store.addReader();
  const place = { ...store.place(), url, applicationName: reader };
  const run = async (sql: string, values: QueryValues = {}, timeoutMs = MINUTE) => {
    const found: { columns: readonly string[]; rows: (readonly Cell[])[] } = { columns: [], rows: [] };
    await runSql(place, { sql, values, timeoutMs }, async ({ columns, rows }) => {
      found.columns = columns;
      for await (const row of rows) found.rows.push(row);
    });
    return found;
  };
  const refusal = async (sql: string, values: QueryValues = {}, timeoutMs = MINUTE): Promise<string> => {
    const error = await run(sql, values, timeoutMs).catch((error) => error);
    expect(error, sql).toMatchObject({ name: 'QueryRefused' });
    return error.message;
  };
  /** Returns what the server's processes of the reader wait for. */
  const waits = async () =>
    (
      await store.query<{ wait: string }>(
        `SELECT coalesce(wait_event, state, '') AS wait FROM pg_stat_activity WHERE usename = '${reader}'`,
      )
    ).map(({ wait }) => wait);
  return { store, reader, place, run, refusal, waits };
}

it('a query that a person typed returns every row, with exact integers and values by name', async () => {
  const { run } = await aLedger();
  const { columns, rows } = await run('SELECT id, hash FROM _leads WHERE id > :least ORDER BY id', {
    least: 50n,
  });
  expect(columns).toEqual(['id', 'hash']);
  expect(rows.map(([id]) => id)).toEqual(ids(51, 500).map(BigInt));
  const sql =
    "VALUES (:text::text, ':text', 1.5::float8, true, NULL, '2026-01-02 03:04:05Z'::timestamptz) -- :text";
  expect((await run(sql, { text: "it's" })).rows).toEqual([
    ["it's", ':text', 1.5, 1n, null, '2026-01-02 03:04:05+00'],
  ]);
  const sums = 'SELECT sum(n), avg(m) FROM (VALUES (9223372036854775807, 2), (2::bigint, 3)) AS v (n, m)';
  expect((await run(sums)).rows).toEqual([[9_223_372_036_854_775_809n, 2.5]]);
  expect((await run('EXPLAIN SELECT 1')).rows).toHaveLength(1);
  expect((await run('SELECT id FROM _leads WHERE id < 0')).columns).toEqual(['id']);
});

it('the settings of the user change neither the values nor the limits of a query', async () => {
  const { store, reader, run } = await aLedger();
  const settings = {
    timezone: "'Australia/Sydney'",
    datestyle: "'SQL, DMY'",
    intervalstyle: "'sql_standard'",
    bytea_output: "'escape'",
    extra_float_digits: '-15',
    standard_conforming_strings: 'off',
    idle_in_transaction_session_timeout: '1',
  };
  for (const [name, value] of Object.entries(settings))
    await store.query(`ALTER ROLE ${reader} SET ${name} = ${value}`);
  const sql = `VALUES ('2026-01-02 03:04:05Z'::timestamptz, '2026-01-02'::date, '1 day 2 hours'::interval, '\\xff00'::bytea, 0.1::float8, 'a\\b',
    current_setting('idle_in_transaction_session_timeout'))`;
  expect((await run(sql)).rows).toEqual([
    ['2026-01-02 03:04:05+00', '2026-01-02', 'P1DT2H', Buffer.from('ff00', 'hex'), 0.1, 'a\\b', '1min'],
  ]);
});

it('no query can write, by any of the ways to leave its transaction', async () => {
  const { store, refusal } = await aLedger();
  await store.query(`GRANT ALL ON ALL TABLES IN SCHEMA ${store.schema} TO PUBLIC;
    GRANT ALL ON ALL SEQUENCES IN SCHEMA ${store.schema} TO PUBLIC`);
  expect(await refusal('DELETE FROM _leads')).toContain('is not a query');
  expect(await refusal('SELECT 1; COMMIT; DELETE FROM _leads')).toContain('more than one statement');
  expect(await refusal('EXPLAIN SELECT 1; DELETE FROM _leads')).toContain('more than one statement');
  for (const sql of [
    'EXPLAIN ANALYZE DELETE FROM _leads',
    "SELECT nextval('_rejected_no')",
    'WITH gone AS (DELETE FROM _leads RETURNING 1) SELECT * FROM gone',
    "SELECT set_config('transaction_read_only', 'off', true), nextval('_rejected_no')",
    'SELECT 1 AS one INTO copied',
    'SELECT * FROM _leads FOR UPDATE',
  ])
    expect(await refusal(sql), sql).toContain('would write');
  expect(await store.query('SELECT count(*)::int AS leads FROM _leads')).toEqual([{ leads: 500 }]);
});

it('a query that cannot be run says why, and where', async () => {
  const { run, refusal } = await aLedger();
  expect(await refusal('SELECT nothing FROM _leads')).toBe(
    'PostgreSQL says: column "nothing" does not exist (line 1, column 8).',
  );
  expect(await refusal('SELECT :long_name,\n  :least + Nowhere(1)', { long_name: 'x', least: 1n })).toContain(
    'function nowhere(integer) does not exist (line 2, column 12)',
  );
  expect(await refusal('SELECT * FROM "Missing"')).toContain('relation "Missing" does not exist');
  // Its message quotes the name of a column that was not typed.
  expect(await refusal('SELECT l.*, count(*) FROM _leads l')).toBe(
    'PostgreSQL refuses the query: a column needs an aggregate function, or a place in GROUP BY (SQLSTATE 42803, line 1, column 8).',
  );
  expect(await refusal('SELEC 1 FROM')).toContain('is not a query');
  expect(await refusal('SELECT 1 FROM')).toContain('syntax error at end of input');
  expect(await refusal('SELECT :missing')).toContain('syntax error at or near ":"');
  await expect(run('SELECT raw::int FROM _versions')).rejects.toThrow(/^The query fails on a value .*22P02/);
});

it('no message contains data of the ledger', async () => {
  const { store, reader, refusal } = await aLedger();
  await store.query(`UPDATE _versions SET raw = 'jane'`);
  await store.query(`CREATE FUNCTION _shout(what text) RETURNS int LANGUAGE plpgsql AS
    $$BEGIN RAISE EXCEPTION 'no %', what USING ERRCODE = '42703'; END$$`);
  const messages: string[] = [];
  for (const value of [
    'raw::regclass',
    'raw::regtype',
    "set_config(raw, 'on', true)",
    'current_setting(raw)',
    "('a.b.c.' || raw)::regclass",
    "(raw || '.x')::regclass",
    "to_tsquery(raw || ' &')",
    "(raw || ' $')::jsonpath",
    "query_to_xml('SELECT ' || raw, true, true, '')",
    "query_to_xml('SELECT \"' || raw || '\"', true, true, '')",
    'has_table_privilege(raw, $$select$$)',
    'raw::int',
    '_shout(raw)',
  ])
    messages.push(await refusal(`SELECT ${value} FROM _versions`));
  await store.query(`REVOKE SELECT ON _versions FROM ${reader}`);
  messages.push(await refusal('SELECT raw FROM _versions'));
  expect(messages.filter((message) => /jane/i.test(message))).toEqual([]);
  expect(messages[0]).toBe('PostgreSQL refuses the query: a table or view does not exist (SQLSTATE 42P01).');
  expect(messages.at(-1)).toContain('its user lacks a privilege (SQLSTATE 42501)');
});

it('a query that takes too long is stopped on the server, even if it lifts the limit', async () => {
  const { refusal, waits } = await aLedger();
  const lifting =
    "SELECT set_config('statement_timeout', '0', true), CASE WHEN n > 450 THEN pg_sleep(600) END FROM generate_series(1, 500) n";
  for (const sql of ['SELECT pg_sleep(600)', lifting])
    expect(await refusal(sql, {}, 500)).toContain('took longer than 0.5 s and was stopped');
  await until('the server has ended the query', async () => (await waits()).length === 0);
});

it('a caller that takes rows slowly makes the server wait, and the time of the query ends that', async () => {
  const { place, waits } = await aLedger();
  const sql = "SELECT n, repeat('x', 1000000) FROM generate_series(1, 10000) n";
  await runSql(place, { sql, values: {}, timeoutMs: 10 * MINUTE }, async ({ rows }) => {
    for await (const [n] of rows) {
      expect(n).toBe(1n);
      await until('the server waits', async () => (await waits()).includes('ClientWrite'));
      return;
    }
  });
  await until('the server has ended the query', async () => (await waits()).length === 0);
  const seen: Cell[] = [];
  const running = runSql(place, { sql, values: {}, timeoutMs: 500 }, async ({ rows }) => {
    for await (const [n] of rows) {
      seen.push(n as Cell);
      await until('the query is stopped', async () => (await waits()).length === 0);
    }
  });
  await expect(running).rejects.toThrow('was stopped');
  const before = seen.length;
  await nextTurn();
  expect(seen).toHaveLength(before);
});

it('a user who could read or write files of the server may not run a query', async () => {
  const { store, reader, run, refusal } = await aLedger();
  const superuser = runSql(
    store.place(),
    { sql: 'SELECT 1', values: {}, timeoutMs: MINUTE },
    async () => undefined,
  );
  await expect(superuser).rejects.toThrow('The user of the ledger is a superuser,');
  for (const role of ['pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program']) {
    await store.query(`GRANT ${role} TO ${reader}`);
    expect(await refusal("SELECT pg_read_file('/etc/passwd')")).toContain(
      `The user of the ledger is a member of ${role}, and could use files of the server`,
    );
    await store.query(`REVOKE ${role} FROM ${reader}`);
  }
  const admin = uniqueName('admin');
  await store.query(
    `CREATE ROLE ${admin} SUPERUSER; GRANT ${admin} TO ${reader}; ALTER ROLE ${reader} NOINHERIT`,
  );
  onTestFinished(async () => {
    await store.query(`DROP ROLE ${admin}`);
  });
  expect(await refusal('SELECT 1')).toContain('is a superuser,');
  await store.query(`REVOKE ${admin} FROM ${reader}`);
  expect((await run('SELECT 1 AS one')).rows).toEqual([[1n]]);
});
