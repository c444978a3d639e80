import { expect, it } from 'vitest';
import { ids, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { PostgresStore } from './postgres-store.ts';

it('a step of a backfill reads a bounded number of versions, however few of them are to be owed', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list(ids(1, 3_500));
  await on.declare('crm', 'late');
  await store.query('UPDATE _leads SET erased_no = 1 WHERE id <= 3400');
  expect(await on.ledger.backfill('late')).toEqual({ owed: 0, skipped: 0, done: false });
  expect(await on.ledger.backfill('late')).toEqual({ owed: 100, skipped: 0, done: true });
});
