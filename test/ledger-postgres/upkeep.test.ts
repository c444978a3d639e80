import { expect, it } from 'vitest';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { PostgresStore } from './postgres-store.ts';

it('statistics of the database name versions, sizes, rows and the schema, and contain no lead', async () => {
  const on = await LedgerUnderTest.with(new PostgresStore().open, 'crm');
  await on.list([1, 2]);
  const stats = await on.ledger.databaseStats();
  expect(stats).toMatchObject({
    sqlite: undefined,
    postgres: expect.stringMatching(/^\d+/),
    rows: { _leads: 2, _versions: 2, _deliveries: 2, _attempts: 0 },
  });
  expect(stats.shape).toBeGreaterThan(1);
  expect(stats.bytes).toBeGreaterThan(0);
  expect(stats.schema).toContainEqual(expect.stringMatching(/^TABLE _leads \(source text, id bigint, /));
  expect(stats.schema).toContainEqual(expect.stringMatching(/^CREATE UNIQUE INDEX _leads_pkey /));
  expect(JSON.stringify(stats)).not.toContain('example.com');
});
