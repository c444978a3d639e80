import { expect, it } from 'vitest';
import { changedLead, ids, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { aListedLead, blockOf } from '../support/scene/a-lead.ts';
import { postgresStore } from './postgres-store.ts';

const complete = { status: 'success', bytes: 1, httpStatus: 200, mark: undefined } as const;

it('a poll that another process has replaced records nothing more', async () => {
  const late = await LedgerUnderTest.with(postgresStore(), 'crm');
  const poll = await late.ledger.startPoll('main');
  await late.ledger.record(poll, [aListedLead({ id: 1 })]);
  await late.again().list([1, 2]);
  const fenced = { code: 'fenced' };
  await expect(late.ledger.record(poll, [aListedLead({ id: 3 })])).rejects.toMatchObject(fenced);
  await expect(late.ledger.finishPoll(poll, complete)).rejects.toMatchObject(fenced);
  expect(await late.owed('crm')).toEqual(['1 v1 pending', '2 v1 pending']);
  expect((await late.ledger.status()).sources[0]).toMatchObject({ leads: 2, listed: 2 });
});

it('no block is known after another process has polled: a lead may have changed', async () => {
  const on = await LedgerUnderTest.with(postgresStore(), 'crm');
  const block = blockOf([aListedLead({ id: 1 })], 'a block');
  const poll = await on.ledger.startPoll('main');
  await on.ledger.record(
    poll,
    (await on.ledger.unknownElements(poll, block)).map((one) => one.read()),
  );
  await on.ledger.finishPoll(poll, complete);
  await on.again().list([changedLead(1, 'B')]);
  const next = await on.ledger.startPoll('main');
  expect(await on.ledger.unknownElements(next, block)).toHaveLength(1);
});

it('two processes that claim at the same time never claim the same delivery', async () => {
  const on = await LedgerUnderTest.with(postgresStore(), 'crm');
  const others = [on.again(), on.again(), on.again()];
  await on.list(ids(1, 200));
  const claims = await Promise.all(
    [on, ...others].map((one) => one.claim('crm', { window: 200, max: 2, most: 25 })),
  );
  const taken: bigint[] = [];
  for (const { refs } of claims)
    for (const ref of refs) taken.push(...(await on.begin(ref)).batch.deliveries.map(({ leadId }) => leadId));
  expect(taken.length).toBeGreaterThan(0);
  expect(new Set(taken).size).toBe(taken.length);
});
