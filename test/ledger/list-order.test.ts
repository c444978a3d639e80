import { expect, test } from 'vitest';
import type { Order, Page, Rows } from '../../src/ledger/contract/page-rows.ts';
import { PageQueries } from '../../src/ledger/queries/page-queries.ts';
import { changedLead, delivered, LedgerUnderTest, refused } from './ledger-under-test.ts';
import { SqliteFile } from './sqlite-store.ts';

/** Returns the texts of all rows of a list, read by pages of two. */
function all(list: (page: Page) => Rows<object>, order: Order): string[] {
  const found: string[] = [];
  let after: string | undefined;
  do {
    const { rows, next } = list({ limit: 2, after, order });
    found.push(...rows.map((row) => JSON.stringify(row)));
    after = next ?? undefined;
  } while (after !== undefined);
  return found;
}

async function usedLedger() {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, 'crm', 'mirror');
  await on.list([1, 2, 3]);
  await on.attemptAll('crm', refused);
  const since = on.clock.in(1_000);
  on.clock.jump(60_000);
  await on.list([changedLead(1, 'B'), 2, 3, 4, 5]);
  await on.attemptAll('mirror', delivered);
  on.clock.jump(60_000);
  await on.list([4, 5, 6, 7]);
  return { questions: new PageQueries(disk.connection), since };
}

test('a list that is sorted oldest first has the rows of the other order, reversed, with every filter', async () => {
  const { questions, since } = await usedLedger();
  const lists: Readonly<Record<string, readonly [least: number, list: (page: Page) => Rows<object>]>> = {
    leads: [7, (page) => questions.leads({}, page)],
    'leads since a time': [4, (page) => questions.leads({ since }, page)],
    'leads until a time': [3, (page) => questions.leads({ until: since }, page)],
    'leads of a service': [7, (page) => questions.leads({ service: 'house-cleaning' }, page)],
    'leads that are gone': [3, (page) => questions.leads({ listing: 'gone' }, page)],
    'one lead': [1, (page) => questions.leads({ lead: 1n }, page)],
    deliveries: [14, (page) => questions.deliveries({}, page)],
    'deliveries of a sink since a time': [4, (page) => questions.deliveries({ sink: 'crm', since }, page)],
    'dead deliveries': [3, (page) => questions.deliveries({ states: ['dead'] }, page)],
    'deliveries of a lead': [2, (page) => questions.deliveries({ lead: 1n }, page)],
    polls: [3, (page) => questions.polls({}, page)],
  };
  for (const [name, [least, list]] of Object.entries(lists)) {
    const newest = all(list, 'newest');
    expect(newest.length, name).toBeGreaterThanOrEqual(least);
    expect(all(list, 'oldest'), name).toEqual(newest.toReversed());
  }
});
