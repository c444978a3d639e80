import { expect, it } from 'vitest';
import type { BatchRef } from '../../src/leads/delivery.ts';
import { ids, LedgerUnderTest, refused, unavailable } from '../ledger/ledger-under-test.ts';
import { PostgresStore } from './postgres-store.ts';

/** Returns a ledger, and the functions to run before statements, by the statement's name. */
async function hookedLedger() {
  const hooks = new Map<string, () => Promise<unknown>>();
  const beforeStatement = (name: string) => {
    const hook = hooks.get(name);
    hooks.delete(name);
    return hook?.() as Promise<void> | undefined;
  };
  return { on: await LedgerUnderTest.with(new PostgresStore({ beforeStatement }).open, 'crm'), hooks };
}

it('all leads that were refused in a row are owed again, also if the first transaction locks the sink last', async () => {
  const { on, hooks } = await hookedLedger();
  await on.list(ids(1, 5));
  const { refs } = await on.claim('crm');
  for (const ref of refs) await on.begin(ref);
  const [first, second, ...others] = refs as [BatchRef, BatchRef, ...BatchRef[]];
  const other = on.again();
  await other.ledger.status();
  hooks.set('lock-sink', () => {
    on.clock.jump(10);
    return other.settle(second, refused);
  });
  await on.settle(first, refused);
  for (const ref of others) await on.settle(ref, refused);
  expect(await on.owed('crm')).toEqual(ids(1, 5).map((id) => `${id} v1 pending`));
});

it('a sink that an operator resumes stays so, although an attempt from before then fails while it is resumed', async () => {
  const { on, hooks } = await hookedLedger();
  await on.list(ids(1, 2));
  const { refs } = await on.claim('crm');
  for (const ref of refs) await on.begin(ref);
  const [first, second] = refs as [BatchRef, BatchRef];
  const gone = { ...unavailable, httpStatus: 410, gone: true };
  await on.settle(first, gone);
  const operator = on.again();
  await operator.ledger.status();
  on.clock.jump(1_000);
  hooks.set('sinks-of-batches', async () => {
    on.clock.jump(10);
    expect(await operator.ledger.resume('crm')).toBe(true);
  });
  await on.settle(second, gone);
  const { sinks } = await on.ledger.status();
  expect(sinks[0]?.health.pausedSince).toBeUndefined();
});
