import { expect, it } from 'vitest';
import { changedLead, ids, LedgerUnderTest, MINUTE } from '../ledger/ledger-under-test.ts';
import { PostgresStore } from './postgres-store.ts';

it('leads that are claimed while their changes are recorded do not make the poll fail', async () => {
  let claim: (() => Promise<unknown>) | undefined;
  const beforeStatement = async (name: string) => {
    if (name === 'lock-deliveries-of-leads') await claim?.();
  };
  const store = new PostgresStore({ beforeStatement });
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list(ids(1, 9));
  const other = on.again();
  claim = () => other.claim('crm', { most: 1, beginForMs: MINUTE });
  await on.list(ids(1, 9).map((id) => changedLead(id, 'B')));
  claim = undefined;
  expect(await on.owed('crm')).toContain('1 v1 pending');
  expect(await on.owed('crm')).toContain('9 v2 pending');
  expect(await store.contradictions()).toEqual([]);
});
