import { expect, test } from 'vitest';
import { PageQueries } from '../../src/ledger/queries/page-queries.ts';
import { batchWaits } from '../../src/status/batch-wait.ts';
import { ids, LedgerUnderTest, MINUTE } from '../ledger/ledger-under-test.ts';
import { SqliteFile } from '../ledger/sqlite-store.ts';

const batch = { max: 5, waitMs: 5 * MINUTE };

/** A ledger with a sink of batches, and the leads of the pending deliveries that wait for their batch, with until when. */
async function aLedger() {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, 'drop');
  const queries = new PageQueries(disk.connection);
  const waiting = async () => {
    const { rows } = queries.deliveries({ states: ['pending'] }, { limit: 100, order: 'oldest' });
    const batchWait = await batchWaits(rows, {
      sinks: [{ name: 'drop', batch }],
      now: on.clock.now(),
      countDue: on.ledger.countDue,
    });
    return rows.flatMap((row) =>
      batchWait(row) ? [`${row.lead} until ${batchWait(row)?.toISOString()}`] : [],
    );
  };
  return { on, waiting };
}

test('deliveries that do not fill a batch wait for it, until as long after they were owed as it may wait', async () => {
  const { on, waiting } = await aLedger();
  const owedAt = on.clock.now();
  await on.list([1, 2]);
  on.clock.jump(MINUTE);
  const until = new Date(owedAt.getTime() + batch.waitMs).toISOString();
  expect(await waiting()).toEqual([`1 until ${until}`, `2 until ${until}`]);
  on.clock.jump(4 * MINUTE);
  expect(await waiting()).toEqual([]);
});

test('deliveries that fill a batch wait for room; when a batch has them, those that remain wait for theirs', async () => {
  const { on, waiting } = await aLedger();
  await on.list(ids(1, 7));
  expect(await waiting()).toEqual([]);
  await on.claim('drop', batch);
  expect(await waiting()).toEqual([expect.stringMatching(/^6 /), expect.stringMatching(/^7 /)]);
});
