import { expect, it } from 'vitest';
import type { BatchRef } from '../../src/leads/delivery.ts';
import { settlingTogetherContract } from '../ledger/contract/settling-together.ts';
import { delivered, ids, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { PostgresStore, postgresStore } from './postgres-store.ts';

settlingTogetherContract(postgresStore);

it('attempts that end in the same turn of the event loop are settled in one transaction', async () => {
  const begun: string[] = [];
  const store = new PostgresStore({
    beforeStatement: (name) => {
      begun.push(name);
      return undefined;
    },
  });
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list(ids(1, 100));
  const { refs } = await on.claim('crm');
  for (const ref of refs as BatchRef[]) await on.begin(ref);
  begun.length = 0;
  await Promise.all(refs.map((ref) => on.settle(ref, delivered)));
  expect(begun.filter((name) => name === 'begin').length).toBeLessThan(refs.length / 2);
  expect(await store.contradictions()).toEqual([]);
});
