import { expect, it } from 'vitest';
import type { BatchRef } from '../../src/leads/delivery.ts';
import { ids, LedgerUnderTest, refused } from '../ledger/ledger-under-test.ts';
import { PostgresStore } from './postgres-store.ts';

it('all leads that were refused in a row are owed again, also if the first transaction locks the sink last', async () => {
  const hooks = new Map<string, () => Promise<unknown>>();
  const beforeStatement = (name: string) => {
    const hook = hooks.get(name);
    hooks.delete(name);
    return hook?.() as Promise<void> | undefined;
  };
  const on = await LedgerUnderTest.with(new PostgresStore({ beforeStatement }).open, 'crm');
  await on.list(ids(1, 5));
  const { refs } = await on.claim('crm');
  for (const ref of refs) await on.begin(ref);
  const [first, second, ...others] = refs as [BatchRef, BatchRef, ...BatchRef[]];
  const other = on.again();
  await other.ledger.status();
  hooks.set('lock-sink', () => {
    on.clock.jump(10);
    return other.settle(second, refused);
  });
  await on.settle(first, refused);
  for (const ref of others) await on.settle(ref, refused);
  expect(await on.owed('crm')).toEqual(ids(1, 5).map((id) => `${id} v1 pending`));
});
