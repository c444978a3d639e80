import { expect, it } from 'vitest';
import type { Cell, QueryValues } from '../../src/ledger/contract/ledger-tables.ts';
import { runSql } from '../../src/ledger-postgres/run-sql.ts';
import { ids, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { PostgresStore } from './postgres-store.ts';

async function aLedger() {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list(ids(1, 500));
  const run = async (sql: string, values: QueryValues = {}, timeoutMs = 60_000) => {
    const found: { columns: readonly string[]; rows: (readonly Cell[])[] } = { columns: [], rows: [] };
    await runSql(store.place(), { sql, values, timeoutMs }, async ({ columns, rows }) => {
      found.columns = columns;
      for await (const row of rows) found.rows.push(row);
    });
    return found;
  };
  return { store, run };
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
  expect((await run('EXPLAIN SELECT 1')).rows).toHaveLength(1);
  expect((await run('SELECT id FROM _leads WHERE id < 0')).columns).toEqual(['id']);
});

it('no query can write, by any of the ways to leave its transaction', async () => {
  const { store, run } = await aLedger();
  const refused = async (sql: string) => {
    const error = await run(sql).catch((error) => error);
    expect(error, sql).toMatchObject({ name: 'QueryRefused' });
    return error.message;
  };
  expect(await refused('DELETE FROM _leads')).toContain('is not a query');
  expect(await refused('SELECT 1; COMMIT; DELETE FROM _leads')).toContain('multiple commands');
  expect(await refused('EXPLAIN SELECT 1; DELETE FROM _leads')).toContain('multiple commands');
  expect(await refused('EXPLAIN ANALYZE DELETE FROM _leads')).toContain('would write');
  expect(await refused("SELECT nextval('_rejected_no')")).toContain('would write');
  await refused('WITH gone AS (DELETE FROM _leads RETURNING 1) SELECT * FROM gone');
  await refused("SELECT set_config('transaction_read_only', 'off', true), nextval('_rejected_no')");
  expect(await store.query('SELECT count(*)::int AS leads FROM _leads')).toEqual([{ leads: 500 }]);
});

it('a query that cannot be run says why, without data of the ledger', async () => {
  const { run } = await aLedger();
  await expect(run('SELECT nothing FROM _leads')).rejects.toThrow('column "nothing" does not exist');
  await expect(run('SELECT :missing')).rejects.toMatchObject({ name: 'QueryRefused' });
  await expect(run('SELECT raw::int FROM _versions')).rejects.toThrow(/^The query fails on a value .*22P02/);
  await expect(run('SELECT pg_sleep(60)', {}, 50)).rejects.toThrow('took too long');
});
