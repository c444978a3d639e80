import { expect, it } from 'vitest';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { until } from '../support/time/until.ts';
import { PostgresStore } from './postgres-store.ts';

it('statistics of the database name versions, sizes, rows and the schema, and contain no lead', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list([1, 2]);
  const stats = await on.ledger.databaseStats();
  expect(stats).toMatchObject({
    sqlite: undefined,
    postgres: expect.stringMatching(/^\d+/),
    rows: { _leads: 2, _versions: 2, _deliveries: 2, _attempts: 0 },
    tables: { _leads: { bytes: expect.any(Number), deadRows: expect.any(Number) } },
    settings: { synchronous_commit: expect.any(String), max_connections: expect.stringMatching(/^\d+$/) },
  });
  expect(stats.shape).toBeGreaterThan(1);
  expect(stats.bytes).toBeGreaterThan(0);
  expect(stats.schema).toContainEqual(expect.stringMatching(/^TABLE _leads \(source text, id bigint, /));
  expect(stats.schema).toContainEqual(expect.stringMatching(/^CREATE UNIQUE INDEX _leads_pkey /));
  expect(JSON.stringify(stats)).not.toContain('example.com');
  const [server] = await store.query<{ role: string; database: string; folder: string }>(
    "SELECT current_user AS role, current_database() AS database, current_setting('data_directory') AS folder",
  );
  for (const name of Object.values(server ?? {})) expect(JSON.stringify(stats.settings)).not.toContain(name);
});

it('scrubbing leaves erased content to the server, after its space was marked as free', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list([1]);
  await on.ledger.erase({ leads: [{ source: 'main', leadId: 1n }], rejected: [] }, []);
  expect(await on.ledger.scrub()).toBe('left-to-server');
  await until('the tables with content were vacuumed', async () => {
    const tables = await store.query(
      "SELECT relname FROM pg_stat_all_tables WHERE schemaname = current_schema() AND last_vacuum IS NOT NULL AND relname IN ('_versions', '_rejected_leads')",
    );
    return tables.length === 2;
  });
});
