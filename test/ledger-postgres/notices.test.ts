import { expect, it } from 'vitest';
import { externalWritesContract } from '../ledger/contract/external-writes.ts';
import { HOUR, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { PostgresStore, postgresStore } from './postgres-store.ts';

externalWritesContract(postgresStore);

const { signal } = new AbortController();

it('a ledger that may have missed notices, because its connection was lost, counts as changed', async () => {
  const store = new PostgresStore({ applicationName: 'leadsync loses its connection' });
  const on = await LedgerUnderTest.with(store.open, 'crm');
  const lost = on.ledger.nextWrite(HOUR, signal);
  await store.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'leadsync loses its connection' AND query LIKE 'LISTEN%'",
  );
  await lost;
  expect(await on.ledger.changedElsewhere()).toBe(true);
  expect(await on.ledger.changedElsewhere()).toBe(false);
  const other = on.again();
  const written = on.ledger.nextWrite(HOUR, signal);
  await other.list([1]);
  await written;
  expect(await on.ledger.changedElsewhere()).toBe(true);
});

it('a claim that finds nothing does not write', async () => {
  const on = await LedgerUnderTest.with(postgresStore(), 'crm');
  const other = on.again();
  expect((await other.claim('crm')).refs).toEqual([]);
  await other.ledger.close();
  expect(await on.ledger.changedElsewhere()).toBe(false);
});

it('a ledger is replaced once its schema holds another one, or none', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  expect(await on.ledger.isReplaced()).toBe(false);
  await store.query("UPDATE _ledger SET id = 'another'");
  expect(await on.ledger.isReplaced()).toBe(true);
  await store.query(
    `DROP SCHEMA ${store.schema} CASCADE; CREATE SCHEMA ${store.schema}; CREATE TABLE _test_clock (ms bigint)`,
  );
  expect(await on.ledger.isReplaced()).toBe(true);
});
