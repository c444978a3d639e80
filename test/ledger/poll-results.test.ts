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
  await on.list([1, 2], 'main', { status: 'failed', httpStatus: 500, error: 'server: it failed' });
  const questions = new PageQueries(disk.connection);
  const found = (result: PollResult) =>
    questions.polls({ result }, { limit: 10 }).rows.map((poll) => [poll.poll_id, pollJson(poll).result]);
  expect(found('success')).toEqual([[1, 'success']]);
  expect(found('rejected')).toEqual([[2, 'rejected']]);
  expect(found('shrunk')).toEqual([[3, 'shrunk']]);
  expect(found('failed')).toEqual([[4, 'failed']]);
  expect(questions.polls({ status: 'success', result: 'failed' }, { limit: 10 }).rows).toEqual([]);
  expect(questions.polls({ status: 'success' }, { limit: 10 }).rows).toHaveLength(3);
});
