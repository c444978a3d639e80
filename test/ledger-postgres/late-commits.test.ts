import { expect, it } from 'vitest';
import type { FeedCursor } from '../../src/ledger/contract/feed-entries.ts';
import { delivered, ids, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { PostgresStore } from './postgres-store.ts';

/** Opens a ledger in which a settlement can be stopped right before its commit. */
async function stoppable() {
  let stop: PromiseWithResolvers<void> | undefined;
  const [reached, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const beforeStatement = (name: string) => {
    if (name !== 'commit' || stop === undefined) return undefined;
    stop = undefined;
    reached.resolve();
    return over.promise;
  };
  const on = await LedgerUnderTest.with(new PostgresStore({ beforeStatement }).open, 'crm', 'drop');
  /** Begins a call that stops before its commit. Returns the call, and what lets it go on. */
  const stopped = async (call: () => Promise<unknown>) => {
    stop = Promise.withResolvers<void>();
    const result = call();
    await reached.promise;
    return { result, goOn: over.resolve };
  };
  return { on, stopped };
}

/** Returns the sinks and leads of all attempts since a cursor, and the cursor after them. */
async function attempted(on: LedgerUnderTest, since: FeedCursor) {
  const leads: string[] = [];
  for (let cursor = since; ; ) {
    const page = await on.ledger.feed(cursor, false);
    leads.push(
      ...page.entries.flatMap((entry) => (entry.kind === 'attempt' ? [`${entry.sink} ${entry.lead}`] : [])),
    );
    cursor = page.cursor;
    if (!page.more) return { leads, cursor };
  }
}

it('the feed lists an attempt that was committed after one with a higher number', async () => {
  const { on, stopped } = await stoppable();
  await on.list([1]);
  // Settlements of the same sink wait for each other.
  const [first, second] = [await on.take('crm'), await on.take('drop')];
  const cursor = await on.ledger.feedCursor();
  const { result, goOn } = await stopped(() => on.settle(first.ref, delivered));
  await on.settle(second.ref, delivered);
  const early = await attempted(on, cursor);
  expect(early.leads).toEqual(['drop 1']);
  goOn();
  await result;
  const late = await attempted(on, early.cursor);
  expect(late.leads).toEqual(['crm 1']);
  expect((await attempted(on, late.cursor)).leads).toEqual([]);
});

it('attempts that are committed while pages are read come once, and after those', async () => {
  const on = await LedgerUnderTest.with(new PostgresStore().open, 'crm');
  await on.list(ids(1, 700));
  const cursor = await on.ledger.feedCursor();
  await on.attemptAll('crm', delivered, { max: 700 });
  const first = await on.ledger.feed(cursor, false);
  expect(first).toMatchObject({ more: true });
  await on.list(ids(1, 701));
  await on.attemptAll('crm', delivered);
  const rest = await attempted(on, first.cursor);
  expect(rest.leads).toEqual(ids(501, 700).map((id) => `crm ${id}`));
  expect((await attempted(on, rest.cursor)).leads).toEqual(['crm 701']);
});
