import { expect, it } from 'vitest';
import { alertQueriesContract } from '../ledger/contract/alert-queries.ts';
import { speedToLeadContract } from '../ledger/contract/speed-to-lead.ts';
import { changedLead, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { postgresStore } from './postgres-store.ts';

alertQueriesContract(postgresStore);
speedToLeadContract(postgresStore);

it('the newest contents are the current ones of leads that are not erased, newest first', async () => {
  const on = await LedgerUnderTest.with(postgresStore(), 'crm');
  await on.list([1, 2, 3]);
  await on.list([changedLead(1, 'B'), 2, 3]);
  await on.ledger.erase({ leads: [{ source: 'main', leadId: 2n }], rejected: [] }, []);
  expect(await on.ledger.newestContents(10)).toMatchObject([
    { id: 'none:main:1:2', leadId: 1n, version: 2, event: 'created' },
    { id: 'none:main:3:1', leadId: 3n, version: 1 },
  ]);
  expect(await on.ledger.newestContents(1)).toHaveLength(1);
});

it('the last polls are those of all sources, newest first, also the running one', async () => {
  const on = await LedgerUnderTest.with(postgresStore(), 'crm');
  await on.list([1, 2]);
  await on.list([1], 'other');
  await on.ledger.startPoll('main');
  expect(await on.ledger.lastPolls(2)).toMatchObject([
    { source: 'main', status: 'running', finishedAt: undefined },
    { source: 'other', status: 'success', listed: 1, new: 1, startedAt: on.clock.now() },
  ]);
});
