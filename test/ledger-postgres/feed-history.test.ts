import { expect, it } from 'vitest';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { PostgresStore } from './postgres-store.ts';

it.each([
  [
    'was restored into the same database',
    `ALTER TABLE _ledger RENAME TO _former; CREATE TABLE _ledger (LIKE _former INCLUDING ALL); INSERT INTO _ledger SELECT * FROM _former`,
  ],
  ['has the id of another one', "UPDATE _ledger SET id = 'another'"],
])('the change feed does not continue after a cursor if the ledger %s', async (_, change) => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  const cursor = await on.ledger.feedCursor();
  expect(await on.ledger.feed(cursor, false)).toMatchObject({ entries: [] });
  await store.query(change);
  await expect(on.ledger.feed(cursor, false)).rejects.toMatchObject({ code: 'replaced' });
});

it('the change feed does not continue after a cursor that has seen transactions which this server does not have yet', async () => {
  const on = await LedgerUnderTest.with(new PostgresStore().open, 'crm');
  const cursor = { ...(await on.ledger.feedCursor()), seen: '4000000000:4000000000:' };
  await expect(on.ledger.feed(cursor, false)).rejects.toMatchObject({ code: 'replaced' });
});
