import { expect, it } from 'vitest';
import { alertQueriesContract } from '../ledger/contract/alert-queries.ts';
import { changeFeedContract } from '../ledger/contract/change-feed.ts';
import { comparingContract } from '../ledger/contract/comparing.ts';
import { findingContract } from '../ledger/contract/finding.ts';
import { rejectedContract } from '../ledger/contract/rejected.ts';
import { sinkActivityContract } from '../ledger/contract/sink-activity.ts';
import { speedToLeadContract } from '../ledger/contract/speed-to-lead.ts';
import { webhookIdsContract } from '../ledger/contract/webhook-ids.ts';
import { changedLead, delivered, HOUR, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { PostgresStore, postgresStore } from './postgres-store.ts';

alertQueriesContract(postgresStore);
speedToLeadContract(postgresStore);
sinkActivityContract(postgresStore);
webhookIdsContract(postgresStore);
findingContract(postgresStore);
changeFeedContract(postgresStore);
rejectedContract(postgresStore);
comparingContract(postgresStore);

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

it('the sums of attempts are added up, say the same, and are removed after a week', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list([1, 2, 3]);
  for (let n = 0; n < 3; n += 1) await on.attemptAll('crm', delivered, { window: 1 });
  const rows = () => store.query('SELECT 1 AS slot FROM _sink_activity');
  const activity = () => on.ledger.sinkActivity('crm', { now: on.clock.now(), periodMs: HOUR, stepMs: HOUR });
  const before = await activity();
  expect(await rows()).toHaveLength(3);
  await on.ledger.checkpointLog();
  expect(await rows()).toHaveLength(1);
  expect(await activity()).toEqual(before);
  on.clock.jump(9 * 24 * HOUR);
  await on.ledger.checkpointLog();
  expect(await rows()).toEqual([]);
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
