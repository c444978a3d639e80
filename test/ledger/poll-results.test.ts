import { expect, test } from 'vitest';
import type { PollResult } from '../../src/leads/poll-result.ts';
import { PageQueries } from '../../src/ledger/queries/page-queries.ts';
import { pollJson } from '../../src/status/record-json.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { LedgerUnderTest } from './ledger-under-test.ts';
import { SqliteFile } from './sqlite-store.ts';

test('polls can be filtered by their result, which distinguishes a shrunk listing and rejected leads from a success', async () => {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, 'crm');
  const many = Array.from({ length: 60 }, (_, at) => at + 1);
  await on.list(many);
  await on.list([
    ...many,
    { ...aListedLead({ id: 61 }), kind: 'rejected', reason: 'It is wrong.', path: 'key' },
  ]);
  await on.list([1, 2, 3]);
  await on.list([1, 2, 3, 4]);
  await on.list([1, 2], 'main', { status: 'failed', httpStatus: 500, error: 'server: it failed' });
  const questions = new PageQueries(disk.connection);
  const found = (result: PollResult) =>
    questions.polls({ result }, { limit: 10 }).rows.map((poll) => [poll.poll_id, pollJson(poll).result]);
  expect(found('success')).toEqual([[1, 'success']]);
  expect(found('rejected')).toEqual([[2, 'rejected']]);
  expect(found('shrunk')).toEqual([
    [4, 'shrunk'],
    [3, 'shrunk'],
  ]);
  expect(found('failed')).toEqual([[5, 'failed']]);
  expect(questions.polls({ status: 'success', result: 'failed' }, { limit: 10 }).rows).toEqual([]);
  expect(questions.polls({ status: 'success' }, { limit: 10 }).rows).toHaveLength(4);
});

test('a poll that confirms a listing with rejected leads has their result, too', async () => {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, 'crm');
  await on.list([1, { ...aListedLead({ id: 2 }), kind: 'rejected', reason: 'It is wrong.', path: 'key' }]);
  await on.list([], 'main', { status: 'unchanged', bytes: 0, httpStatus: 304 });
  const { rows } = new PageQueries(disk.connection).polls({ result: 'rejected' }, { limit: 10 });
  expect(rows.map(({ status, listing_rejected }) => [status, listing_rejected])).toEqual([
    ['unchanged', 1],
    ['success', 1],
  ]);
});
