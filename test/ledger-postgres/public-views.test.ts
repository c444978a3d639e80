import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { queries, relations } from '../../src/catalog/catalog.ts';
import {
  eventfulLedger,
  filled,
  ledgerValue,
  POSTGRES_TYPES,
  postgresValue,
  selectOf,
  sorted,
  VALUES,
  withoutAges,
} from '../catalog/eventful-store.ts';
import { comparable, type Row } from '../catalog/two-stores.ts';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { SqliteFile } from '../ledger/sqlite-store.ts';
import { aListedLead, listedAs } from '../support/scene/a-lead.ts';
import { PostgresStore } from './postgres-store.ts';

// A day is a day, and not a moment in whatever zone the test runs in.
pg.types.setTypeParser(pg.types.builtins.DATE, String);

/** What is computed at the moment of the query, and numbers, which may have gaps in PostgreSQL. */
const OWN = ['age_seconds', '_leadsync_no'];

/** Two ledgers in which the same happened, one in SQLite and one in PostgreSQL. */
async function twoLedgers() {
  const [disk, store] = [new SqliteFile(), new PostgresStore()];
  await eventfulLedger(disk.open);
  await eventfulLedger(store.open);
  return {
    inSqlite: (sql: string) =>
      disk.other((db) => db.prepare(sql).safeIntegers().all() as Record<string, unknown>[]).map(comparable),
    inPostgres: async (sql: string): Promise<Row[]> => (await store.query(sql)).map(comparable),
  };
}

describe.each(relations)('$name in PostgreSQL', (relation) => {
  it('has the described columns, types and comments', async () => {
    const store = new PostgresStore();
    await LedgerUnderTest.with(store.open);
    const columns = await store.query(
      `SELECT attname AS name, format_type(atttypid, NULL) AS type, col_description(attrelid, attnum) AS means
      FROM pg_attribute WHERE attrelid = '${relation.name}'::regclass AND attnum > 0 ORDER BY attnum`,
    );
    expect(columns).toEqual(
      relation.columns.map(({ name, type, means }) => ({ name, type: POSTGRES_TYPES[type], means })),
    );
  });

  it('has the rows of a ledger in SQLite in which the same happened', async () => {
    const { inSqlite, inPostgres } = await twoLedgers();
    const sql = selectOf(relation, OWN);
    const rows = await inPostgres(sql);
    expect(rows).not.toEqual([]);
    expect(sorted(rows)).toEqual(sorted(inSqlite(sql)));
  });
});

describe.each(queries)('the query $name in PostgreSQL', (query) => {
  it('has the answer of a ledger in SQLite in which the same happened', async () => {
    const { inSqlite, inPostgres } = await twoLedgers();
    const rows = await inPostgres(filled(query, VALUES, postgresValue));
    expect(rows).not.toEqual([]);
    expect(sorted(withoutAges(rows))).toEqual(
      sorted(withoutAges(inSqlite(filled(query, VALUES, ledgerValue)))),
    );
  });
});

it.each(['0000-01-01T00:00:00.001Z', '1969-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'])(
  'the time %s is exact to the millisecond',
  async (time) => {
    const store = new PostgresStore();
    const on = await LedgerUnderTest.with(store.open);
    await on.list([aListedLead({ id: 1, created_at: time })]);
    const [row] = await store.query<{ created_at: Date }>('SELECT created_at FROM v_leads_no_pii');
    expect(row?.created_at.toISOString()).toBe(time);
  },
);

it('a destination that answers with NUL and half a character breaks no view', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list([1]);
  const ref = { object: 'deal', id: 'a\0b', url: 'https://crm.example.com/\ud800' };
  await on.attemptAll('crm', { kind: 'delivered', ref });
  await on.ledger.pause('crm', 'because\0of\udfff');
  expect(await store.query('SELECT ref_id, ref_url FROM deliveries')).toEqual([
    { ref_id: 'a\ufffdb', ref_url: 'https://crm.example.com/\ufffd' },
  ]);
  expect(await store.query('SELECT paused_reason FROM v_sink_health')).toEqual([
    { paused_reason: 'because\ufffdof\ufffd' },
  ]);
});

it('a start adds the tables of a migration, renews comments that another version wrote, and keeps the rights that were granted on a view', async () => {
  const store = new PostgresStore();
  await LedgerUnderTest.with(store.open);
  await store.close();
  // As the ledger was before the migrations that added these tables.
  await store.query(`COMMENT ON VIEW v_leads IS 'outdated'; GRANT SELECT ON v_leads TO PUBLIC;
    DROP TABLE _documents, _document_locks, _audit, _processes, _missing_processes, _duty_leases; UPDATE _ledger SET shape = 9`);
  await LedgerUnderTest.with(store.open);
  const [view] = await store.query<{ comment: string; granted: boolean }>(
    "SELECT obj_description('v_leads'::regclass) AS comment, relacl::text LIKE '%,=r/%' AS granted FROM pg_class WHERE oid = 'v_leads'::regclass",
  );
  expect(view).toMatchObject({ granted: true });
  expect(view?.comment).toContain('One row per lead');
  expect(await store.query('SELECT FROM _processes')).toEqual([]);
});

it('a lead with a number that jsonb refuses has the number as a string, and hides no other lead', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open);
  const raw = aListedLead({
    id: 2,
    service_question_answers: [{ question: 'q', slug: 's', answer: 'KEPT' }],
  }).raw.replace('"KEPT"', `{"x":[-1.5e999999,1e5,"2e999999",0.${'1'.repeat(17_000)}]}`);
  await on.list([1, listedAs(2n, raw)]);
  const rows = await store.query<{
    id: bigint;
    answers: { s: unknown };
    replaced: boolean;
    original: string;
  }>(
    'SELECT id, answers, _leadsync_replaced AS replaced, _leadsync_original AS original FROM leads ORDER BY id',
  );
  expect(rows.map(({ replaced }) => replaced)).toEqual([false, true]);
  expect(rows[1]).toMatchObject({
    answers: { s: { x: ['-1.5e999999', 100_000, '2e999999', `0.${'1'.repeat(17_000)}`] } },
    original: raw,
  });
});
