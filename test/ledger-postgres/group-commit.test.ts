import { expect, it } from 'vitest';
import type { BatchRef } from '../../src/leads/delivery.ts';
import { LedgerError } from '../../src/ledger/contract/ledger-error.ts';
import { GroupCommit } from '../../src/ledger-postgres/database/group-commit.ts';
import { beginningTogetherContract } from '../ledger/contract/beginning-together.ts';
import { settlingTogetherContract } from '../ledger/contract/settling-together.ts';
import {
  aSink,
  changedLead,
  delivered,
  HOUR,
  ids,
  LedgerUnderTest,
  refused,
  unavailable,
} from '../ledger/ledger-under-test.ts';
import { PostgresStore, postgresStore } from './postgres-store.ts';

beginningTogetherContract(postgresStore);
settlingTogetherContract(postgresStore);

it('attempts that end in the same turn of the event loop are settled in one transaction', async () => {
  const begun: string[] = [];
  const store = new PostgresStore({
    beforeStatement: (name) => {
      begun.push(name);
      return undefined;
    },
  });
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await on.list(ids(1, 100));
  const { refs } = await on.claim('crm');
  for (const ref of refs as BatchRef[]) await on.begin(ref);
  begun.length = 0;
  await Promise.all(refs.map((ref) => on.settle(ref, delivered)));
  expect(begun.filter((name) => name === 'begin').length).toBeLessThan(refs.length / 2);
  expect(await store.contradictions()).toEqual([]);
});

/** Gathers calls of these sizes, and fails each transaction with one of the `locked` calls. Also returns the calls of each transaction. */
async function gather(sizes: Readonly<Record<string, number>>, locked: readonly string[] = []) {
  const transactions: string[] = [];
  const commits = new GroupCommit(
    async (calls: readonly string[]) => {
      transactions.push(calls.join(' '));
      if (calls.some((call) => locked.includes(call)))
        throw new LedgerError('busy', 'A row is locked.', 'Wait.');
      return calls;
    },
    (call) => sizes[call] ?? 1,
  );
  const calls = await Promise.allSettled(Object.keys(sizes).map((call) => commits.run(call)));
  return { transactions, made: calls.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])) };
}

it('a call that fails because of a lock stops no other', async () => {
  const { made } = await gather({ a: 1, locked: 1, b: 1, c: 1 }, ['locked']);
  expect(made).toEqual(['a', 'b', 'c']);
});

it('if several calls in a row fail because of a lock, the others are not tried', async () => {
  const { made, transactions } = await gather({ a: 1, b: 1, c: 1, d: 1, e: 1 }, ['b', 'c', 'd']);
  expect(made).toEqual(['a']);
  expect(transactions).toEqual(['a b c d e', 'a', 'b', 'c']);
});

it('calls are gathered up to a sum of sizes, and a larger one is made alone', async () => {
  const { transactions } = await gather({ a: 10_000, b: 200, c: 300, d: 1, e: 2_000 });
  expect(transactions).toEqual(['a', 'b c', 'd', 'e']);
});

it('attempts of changed leads that several processes settle at the same time owe each newest content once', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, aSink('crm', { events: ['created', 'updated'] }), 'drop');
  const leads = ids(1, 60);
  await on.list(leads);
  const processes = [on, on.again(), on.again()];
  const attempts: (() => Promise<unknown>)[] = [];
  for (const sink of ['crm', 'drop'])
    for (const [index, ref] of (await on.claim(sink)).refs.entries()) {
      const process = processes[index % processes.length] as LedgerUnderTest;
      await process.begin(ref);
      const outcome = [delivered, refused, delivered, unavailable][index % 4] ?? delivered;
      attempts.push(() => process.settle(ref, outcome));
    }
  await on.list(leads.map((id) => changedLead(id, 'B')));
  await Promise.all(attempts.map((settle) => settle()));
  expect(await store.contradictions()).toEqual([]);
  for (const sink of ['crm', 'drop'])
    do on.clock.jump(HOUR);
    while ((await on.attemptAll(sink)).length > 0);
  const newest = async (sink: string) =>
    (await on.owed(sink)).filter((row) => row.endsWith(' v2 delivered')).sort();
  expect(await newest('crm')).toEqual(leads.map((id) => `${id} v2 delivered`).sort());
  // A sink without updates has no newer content of a lead that it got.
  const failed = leads.filter((id) => id % 2 === 0);
  expect(await newest('drop')).toEqual(failed.map((id) => `${id} v2 delivered`).sort());
  expect(await store.contradictions()).toEqual([]);
});
