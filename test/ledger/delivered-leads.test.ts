import { expect, test } from 'vitest';
import { PageQueries } from '../../src/ledger/queries/page-queries.ts';
import { delivered, LedgerUnderTest, refused } from './ledger-under-test.ts';
import { SqliteFile } from './sqlite-store.ts';

test('leads can be limited to those that are delivered everywhere or not, and say for how many sinks they are dead', async () => {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, 'crm', 'mirror');
  await on.list([1]);
  await on.attemptAll('crm', delivered);
  await on.attemptAll('mirror', delivered);
  await on.list([1, 2]);
  await on.attemptAll('crm', refused);
  await on.attemptAll('mirror', delivered);
  const questions = new PageQueries(disk.connection);
  const found = (search: { delivered?: 'everywhere' | 'not-everywhere' }) =>
    questions
      .leads(search, { limit: 10 })
      .rows.map(({ lead, owedSinks, deliveredSinks, deadSinks }) => [
        lead,
        owedSinks,
        deliveredSinks,
        deadSinks,
      ]);
  expect(found({ delivered: 'everywhere' })).toEqual([['1', 2, 2, 0]]);
  expect(found({ delivered: 'not-everywhere' })).toEqual([['2', 2, 1, 1]]);
  expect(found({})).toHaveLength(2);
  expect(questions.countLeads({ delivered: 'not-everywhere' }, 10)).toEqual({ count: 1, isAtLeast: false });
});
