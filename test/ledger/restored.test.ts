import { expect, test } from 'vitest';
import type { PollEnd } from '../../src/ledger/contract/ledger-polling.ts';
import { aNewLead, HOUR, LedgerUnderTest, MINUTE } from './ledger-under-test.ts';
import { SqliteFile } from './sqlite-store.ts';

const unchanged: PollEnd = { status: 'unchanged', bytes: 0, httpStatus: 304, mark: undefined };
const partial: PollEnd = { status: 'partial', httpStatus: 200, error: 'it broke off' };

/** Returns a ledger that was restored a minute ago, from a backup that has the lead 1 of the source `main`. */
async function aRestoredLedger(): Promise<LedgerUnderTest> {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, 'crm');
  await on.list([1]);
  await on.attemptAll('crm');
  on.clock.jump(HOUR);
  disk.connection.prepare('UPDATE _ledger SET restored_at = ?').run(on.clock.now().getTime());
  on.clock.jump(MINUTE);
  return on;
}

/** Returns the leads that are due, and whether the sink is told that each may have arrived. */
async function due(on: LedgerUnderTest): Promise<Record<string, boolean>> {
  const { refs } = await on.claim('crm', { max: 9 });
  const told: [string, boolean][] = [];
  for (const ref of refs)
    for (const { leadId, mayHaveArrived } of (await on.begin(ref)).batch.deliveries)
      told.push([String(leadId), mayHaveArrived === true]);
  return Object.fromEntries(told);
}

test('after a restore, leads may have arrived until a listing was complete, however the polls in between ended', async () => {
  const on = await aRestoredLedger();
  const [two, three, four, five] = [aNewLead(on, 2), aNewLead(on, 3), aNewLead(on, 4), aNewLead(on, 5)];
  await on.list([1, two], 'main', partial);
  await on.list([1, three], 'main', partial);
  await on.list([1, two, three, four]);
  await on.list([1, two, three, four, five], 'main', partial);
  expect(await due(on)).toEqual({ 2: true, 3: true, 4: true, 5: false });
});

test('after a restore, a listing that has not changed since the backup counts as a complete one', async () => {
  const on = await aRestoredLedger();
  await on.list([], 'main', unchanged);
  await on.list([1, aNewLead(on, 2)], 'main', partial);
  expect(await due(on)).toEqual({ 2: false });
});

test('after a restore, leads of a source that was added after the backup may have arrived', async () => {
  const on = await aRestoredLedger();
  await on.list([7, aNewLead(on, 8)], 'other');
  expect(await due(on)).toEqual({ 7: true, 8: true });
});

test('leads of a source that was added long after a restore count as new', async () => {
  const on = await aRestoredLedger();
  on.clock.jump(24 * HOUR);
  await on.list([7, aNewLead(on, 8)], 'added');
  await on.list([1, aNewLead(on, 2)]);
  expect(await due(on)).toEqual({ 2: true, 7: false, 8: false });
});
