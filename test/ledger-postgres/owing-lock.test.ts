import { expect, it } from 'vitest';
import { statementTexts } from '../../src/ledger-postgres/database/statement.ts';
import { aSink, changedLead, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { PostgresStore } from './postgres-store.ts';

it('recording reads no changes of counts, because others wait for its lock meanwhile', async () => {
  const run: string[] = [];
  const store = new PostgresStore({ beforeStatement: async (name) => void run.push(name) });
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.declare(aSink('crm', { events: ['created', 'updated'] }));
  run.length = 0;
  await on.list([1, 2]);
  await on.list([changedLead(1, 'B'), 2]);
  expect(run).toEqual(expect.arrayContaining(['owe-created', 'add-counts']));
  expect(run.filter((name) => /FROM _count_changes/.test(statementTexts.get(name) ?? ''))).toEqual([]);
});
