import { expect, it } from 'vitest';
import type { PollEnd } from '../../src/ledger/contract/ledger-polling.ts';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { aListedLead, blockOf } from '../support/scene/a-lead.ts';
import { PostgresStore } from './postgres-store.ts';

const complete: PollEnd = { status: 'success', bytes: 1, httpStatus: 200, mark: undefined };

it.each([31, 32, 52])(
  'numbers of %i bits are counted like others: only what is no longer listed is gone',
  async (bits) => {
    const store = new PostgresStore();
    const on = await LedgerUnderTest.with(store.open, 'crm');
    await store.query(`SELECT setval('_version_no', ${2 ** bits - 3})`);
    // The numbers of the first block are the last of so many bits, and those of the second the first ones of more.
    const [first, second] = [blockOf([1, 2].map(lead), 'first'), blockOf([3, 4].map(lead), 'second')];
    expect(await poll(on, first, second)).toMatchObject({ status: 'success', listed: 4, new: 4 });
    // Both blocks are known, and the element behind them is the same lead again.
    expect(await poll(on, first, second, blockOf([lead(4)], 'again'))).toMatchObject({ listed: 4, new: 0 });
    expect(await poll(on, first, blockOf([lead(4)], 'rest'))).toMatchObject({ listed: 3 });
    const rows = await store.query('SELECT id FROM _leads WHERE last_listed_at IS NOT NULL');
    expect(rows).toEqual([{ id: '3' }]);
  },
);

function lead(id: number) {
  return aListedLead({ id });
}

/** Records a listing of these blocks. */
async function poll({ ledger }: LedgerUnderTest, ...blocks: ReturnType<typeof blockOf>[]) {
  const id = await ledger.startPoll('main');
  for (const block of blocks)
    await ledger.record(
      id,
      (await ledger.unknownElements(id, block)).map((one) => one.read()),
    );
  return ledger.finishPoll(id, complete);
}
