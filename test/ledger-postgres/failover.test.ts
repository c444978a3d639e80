import { expect, it } from 'vitest';
import type { LedgerError } from '../../src/ledger/contract/ledger-error.ts';
import { type LedgerUnderTest, refused } from '../ledger/ledger-under-test.ts';
import { aListedLead, blockOf } from '../support/scene/a-lead.ts';
import { until } from '../support/time/until.ts';
import { query, ServerPair } from './server-pair.ts';

const complete = { status: 'success', bytes: 1, httpStatus: 200, mark: undefined } as const;

/** Polls a listing as a poll does that looks up first what is known. */
async function pollInBlocks({ ledger }: LedgerUnderTest, leads: readonly number[]) {
  const poll = await ledger.startPoll('main');
  const block = blockOf(
    leads.map((id) => aListedLead({ id })),
    `block ${leads}`,
  );
  const unknown = await ledger.unknownElements(poll, block);
  if (unknown.length > 0)
    await ledger.record(
      poll,
      unknown.map((one) => one.read()),
    );
  return ledger.finishPoll(poll, complete);
}

/** Waits until a process that has lost its connections has noticed that. */
async function reconnected({ ledger }: LedgerUnderTest): Promise<void> {
  await until('the ledger connects again', () => ledger.resume('crm'));
}

it('a lead whose record was lost is recorded again, although the former primary still answers questions', async () => {
  const pair = await ServerPair.start();
  const on = await pair.open();
  await pollInBlocks(on, [1]);
  await pair.stopReplication();
  await pollInBlocks(on, [1, 2]);
  await pair.failOver();
  pair.cut('writing');
  await reconnected(on);
  expect(await pollInBlocks(on, [1, 2, 3])).toMatchObject({ new: 2, listed: 3 });
  expect(await on.owed('crm')).toEqual(['1 v1 pending', '2 v1 pending', '3 v1 pending']);
});

it('a process whose server has become read-only connects again, to the new primary', async () => {
  const pair = await ServerPair.start();
  const on = await pair.open();
  await on.list([1]);
  await pair.stopReplication();
  await pair.failOver();
  await query(pair.primary, 'ALTER SYSTEM SET default_transaction_read_only = on');
  await query(pair.primary, 'SELECT pg_reload_conf()');
  const pause = () => on.ledger.pause('crm', 'test');
  const refusal = { code: 'standby', isTransient: true };
  // The server tells its sessions of the setting a little later.
  await until('the server refuses to write', async () =>
    pause().then(
      () => false,
      (error) => {
        expect(error).toMatchObject(refusal);
        return true;
      },
    ),
  );
  expect(await pause()).toBe(true);
  const [sink] = await query<{ health: string }>(pair.standby, 'SELECT health FROM ledger._sinks');
  expect(sink?.health).toContain('test');
});

it('a ledger at a standby is not opened, and one at a former primary is not used', async () => {
  const pair = await ServerPair.start();
  const on = await pair.open();
  pair.leadTo(pair.standby);
  const standby = { code: 'standby', isTransient: true };
  await expect(pair.openLedger()).rejects.toMatchObject(standby);
  await pair.stopReplication();
  await pair.failOver();
  pair.cut();
  await reconnected(on);
  await on.list([1]);
  pair.leadTo(pair.primary);
  pair.cut();
  await until('the ledger reaches the former primary', () =>
    on.ledger.startPoll('main').catch((error: LedgerError) => error.code === 'standby'),
  );
  await expect(on.ledger.backlog()).rejects.toMatchObject(standby);
});

it('an action does not change deliveries that it has found before a failover', async () => {
  const pair = await ServerPair.start();
  let beforeCommit: (() => Promise<void>) | undefined;
  const on = await pair.open((name) => (name === 'commit' ? beforeCommit?.() : undefined));
  await on.list([1]);
  const { ref } = await on.take('crm');
  await on.settle(ref, refused);
  await pair.stopReplication();
  // The first transaction of the action finds the deliveries, and the second changes them.
  beforeCommit = async () => {
    beforeCommit = undefined;
    await pair.failOver();
    pair.cut('writing');
    await reconnected(on);
  };
  await expect(on.ledger.retry({ sink: 'crm' })).rejects.toMatchObject({
    message: 'Another server took over the ledger while leadsync was working on this.',
    isTransient: true,
  });
  expect(await on.owed('crm')).toEqual(['1 v1 dead']);
  expect(await on.ledger.retry({ sink: 'crm' })).toBe(1);
});

it('the change feed does not continue after a cursor from before a failover', async () => {
  const pair = await ServerPair.start();
  const on = await pair.open();
  await pair.stopReplication();
  await on.list([1]);
  const cursor = await on.ledger.feedCursor();
  await pair.failOver();
  pair.cut();
  await reconnected(on);
  await on.list([2]);
  await expect(on.ledger.feed(cursor, false)).rejects.toMatchObject({ code: 'replaced', isTransient: false });
  expect(await on.ledger.feed(await on.ledger.feedCursor(), false)).toMatchObject({
    entries: [],
    more: false,
  });
});
