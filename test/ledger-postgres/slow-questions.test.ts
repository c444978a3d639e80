import { expect, it } from 'vitest';
import { delivered, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { PostgresStore } from './postgres-store.ts';

it('no poll and no delivery waits for questions that take long', async () => {
  const over = Promise.withResolvers<void>();
  const beforeStatement = (name: string) => (name.startsWith('listed-') ? over.promise : undefined);
  const on = await LedgerUnderTest.with(new PostgresStore({ beforeStatement }).open, 'crm');
  const questions = [1, 2].map((limit) => on.ledger.deliveries({}, { limit }));
  await on.list([1]);
  const { ref } = await on.take('crm');
  await on.settle(ref, delivered);
  over.resolve();
  expect((await Promise.all(questions)).length).toBe(2);
  expect(await on.owed('crm')).toEqual(['1 v1 delivered']);
});
