import { expect, it } from 'vitest';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { aListedLead, blockOf } from '../support/scene/a-lead.ts';
import { PostgresStore } from './postgres-store.ts';

const complete = { status: 'success', bytes: 1, httpStatus: 200, mark: undefined } as const;
const fenced = { code: 'fenced' };

/** Opens a ledger, and returns what sets it back to before its first poll, as a failover does that loses commits. */
async function losing() {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  const lose = () =>
    store.query(`TRUNCATE _polls, _leads, _versions, _deliveries, _count_changes; ALTER TABLE _polls ALTER COLUMN poll_id RESTART WITH 1;
      UPDATE _sources SET leads = 0, current = 0, listed = 0, mark = NULL, complete_at = NULL, first_listed_at = NULL`);
  return { on, store, lose };
}

/** Polls a listing of one block. */
async function pollBlock({ ledger }: LedgerUnderTest, id: number) {
  const poll = await ledger.startPoll('main');
  const [item] = await ledger.unknownElements(poll, blockOf([aListedLead({ id })], `block ${id}`));
  if (item) await ledger.record(poll, [item.read()]);
  return { poll, known: item === undefined, summary: await ledger.finishPoll(poll, complete) };
}

it('a poll whose number was issued again, to another process, reads and records nothing more', async () => {
  const { on, lose } = await losing();
  const poll = await on.ledger.startPoll('main');
  await lose();
  const other = on.again();
  expect(await other.ledger.startPoll('main')).toBe(poll);
  const block = blockOf([aListedLead({ id: 1 })], 'a block');
  await expect(on.ledger.unknownElements(poll, block)).rejects.toMatchObject(fenced);
  await expect(on.ledger.record(poll, [aListedLead({ id: 1 })])).rejects.toMatchObject(fenced);
  await expect(on.ledger.finishPoll(poll, complete)).rejects.toMatchObject(fenced);
  await other.ledger.record(poll, [aListedLead({ id: 2 })]);
  expect(await other.ledger.finishPoll(poll, complete)).toMatchObject({ listed: 1, new: 1 });
  expect(await on.owed('crm')).toEqual(['2 v1 pending']);
});

it('a process never has two polls with the same number: records of a lost poll do not go to another source', async () => {
  const { on, lose } = await losing();
  const lost = await on.ledger.startPoll('main');
  await lose();
  const poll = await on.ledger.startPoll('other');
  expect(poll).toBeGreaterThan(lost);
  await expect(on.ledger.record(lost, [aListedLead({ id: 1 })])).rejects.toMatchObject(fenced);
  await on.ledger.record(poll, [aListedLead({ id: 2 })]);
  await on.ledger.finishPoll(poll, complete);
  expect((await on.ledger.deliveries({ sink: 'crm' }, { limit: 10 })).map(({ source }) => source)).toEqual([
    'other',
  ]);
});

it('blocks that were remembered from a lost poll are forgotten, although another poll has its number', async () => {
  const { on, lose } = await losing();
  const { poll } = await pollBlock(on, 1);
  await lose();
  // Another process polls while the listing has another lead. Its poll has the same number of parts and the same status.
  expect(await pollBlock(on.again(), 2)).toMatchObject({ poll, known: false });
  expect(await pollBlock(on, 1)).toMatchObject({ known: false, summary: { new: 1 } });
  expect(await on.owed('crm')).toEqual(['2 v1 pending', '1 v1 pending']);
});
