import { describe, expect, it } from 'vitest';
import type { ListedItem } from '../../../src/leads/listed-lead.ts';
import type { PollEnd } from '../../../src/ledger/contract/ledger-polling.ts';
import { aLead, aListedLead, blockOf, hashOf } from '../../support/scene/a-lead.ts';
import { changedLead, LedgerUnderTest, type OpenLedger } from '../ledger-under-test.ts';

const complete: PollEnd = { status: 'success', bytes: 1, httpStatus: 200, mark: undefined };
const brokenOff: PollEnd = { status: 'partial', httpStatus: 200, error: 'incomplete' };

/** What every ledger promises of a listing's blocks: that they spare work and change nothing. */
export function blocksContract(store: () => OpenLedger): void {
  describe('a block that the last listing had', () => {
    it('is not looked into, and its leads count as listed', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      expect(await list(on, [[1, 2], [3]])).toMatchObject({ lookedInto: 3, listed: 3, status: 'success' });
      expect(await list(on, [[1, 2], [4]])).toMatchObject({ lookedInto: 1, listed: 3, status: 'success' });
      expect(await on.owed('crm')).toEqual(['1 v1 pending', '2 v1 pending', '3 v1 pending', '4 v1 pending']);
    });

    it('makes an unchanged listing of nothing but such blocks, as fresh as any', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await list(on, [[1, 2], [3]]);
      on.clock.jump(60_000);
      expect(await list(on, [[3], [1, 2]])).toMatchObject({ lookedInto: 0, listed: 3, status: 'unchanged' });
      const [main] = (await on.ledger.status()).sources;
      expect(main?.lastSuccessAt).toEqual(on.clock.now());
      expect(main?.lastPoll).toMatchObject({ status: 'unchanged', listed: 3 });
    });

    it('makes no unchanged listing of one that lacks another block, or had leads outside of any', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await list(on, [[1, 2], [3]]);
      expect(await list(on, [[1, 2]])).toMatchObject({ listed: 2, status: 'success' });
      await list(on, [
        [1, 2],
        [aRejected(7n), 3],
      ]);
      expect(await list(on, [[1, 2]])).toMatchObject({ listed: 2, status: 'success' });
      expect((await on.ledger.status()).sources[0]).toMatchObject({ listed: 2, rejected: 0 });
    });

    it('is one that the last listing had: not one of before, when a lead has changed since and changes back', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await list(on, [[1, 2]]);
      await list(on, [[changedLead(1, 'Somebody Else'), 2]]);
      expect(await list(on, [[1, 2]])).toMatchObject({ changed: 1, status: 'success' });
    });

    it.each([
      ['broke off', brokenOff],
      ['was never ended', 'never' as const],
    ])('is none after a poll that %s: a lead may have changed in it', async (_, end) => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await list(on, [[1, 2], [3]]);
      await list(on, [[changedLead(1, 'Somebody Else'), 2]], end);
      expect(await list(on, [[1, 2], [3]])).toMatchObject({ lookedInto: 1, changed: 1 });
    });

    it('is one still after a poll that met nothing', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await list(on, [[1, 2], [3]]);
      await list(on, [], { status: 'failed', httpStatus: 503, error: 'server' });
      await list(on, [], { status: 'unchanged', httpStatus: 304, bytes: 0 });
      expect(await list(on, [[1, 2], [3]])).toMatchObject({ lookedInto: 0, status: 'unchanged' });
    });

    it('is none where an element of it was set aside: that is told anew each time', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const listing = [[aRejected(7n), 1], [2]];
      await list(on, listing);
      expect(await list(on, listing)).toMatchObject({ lookedInto: 1, rejected: 1, status: 'success' });
      expect(await list(on, [[7, 1], [2]])).toMatchObject({ new: 1, rejected: 0 });
    });

    it('is none of another source', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await list(on, [[1, 2]], complete, 'north');
      expect(await list(on, [[1, 2]], complete, 'south')).toMatchObject({ new: 2 });
    });

    it('counts as listing the known content of a lead that was first met with one that is set aside', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const other = changedLead(1, 'Somebody Else');
      await list(on, [
        [1, 2],
        [other, 3],
      ]);
      expect(
        await list(on, [
          [other, 3],
          [1, 2],
        ]),
      ).toMatchObject({ changed: 0, rejected: 1 });
      expect(await list(on, [[1, 2], [3]])).toMatchObject({ changed: 0, new: 0 });
    });

    it('is none when a lead of it has changed earlier in the same listing', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const other = changedLead(1, 'Somebody Else');
      await list(on, [[1, 2], [3]]);
      expect(await list(on, [[other], [1, 2], [3]])).toMatchObject({ changed: 1, rejected: 1 });
      expect(await list(on, [[1, 2], [3]])).toMatchObject({ changed: 1, lookedInto: 1 });
    });

    it('is none when it could not be recorded', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const unfit = { ...aListedLead({ id: 2 }), raw: undefined as unknown as string };
      const poll = await on.ledger.startPoll('main');
      const block = blockOf([aListedLead({ id: 1 }), unfit], 'a');
      const items = (await on.ledger.unknownElements(poll, block)).map((element) => element.read());
      await expect(on.ledger.record(poll, items)).rejects.toThrow();
      await on.ledger.record(poll, [aListedLead({ id: 3 }), aListedLead({ id: 4 })]);
      await on.ledger.finishPoll(poll, complete);
      const next = await on.ledger.startPoll('main');
      expect(await on.ledger.unknownElements(next, block)).toHaveLength(2);
    });
  });
}

/** Lists these blocks as a poll does, each under a hash of its own content. */
async function list(
  on: LedgerUnderTest,
  blocks: readonly (readonly (ListedItem | number)[])[],
  end: PollEnd | 'never' = complete,
  source = 'main',
) {
  const poll = await on.ledger.startPoll(source);
  const totals = { lookedInto: 0, new: 0, changed: 0, rejected: 0 };
  for (const block of blocks) {
    const items = block.map((item) => (typeof item === 'number' ? aListedLead({ id: item }) : item));
    const elements = await on.ledger.unknownElements(
      poll,
      blockOf(items, items.map(({ hash }) => hash).join()),
    );
    if (elements.length === 0) continue;
    totals.lookedInto += elements.length;
    const recorded = await on.ledger.record(
      poll,
      elements.map((element) => element.read()),
    );
    totals.new += recorded.new;
    totals.changed += recorded.changed;
    totals.rejected += recorded.rejected;
  }
  const summary = end === 'never' ? undefined : await on.ledger.finishPoll(poll, end);
  // What was held back is decided when the listing ends.
  const changed = summary?.changed ?? totals.changed;
  return { ...totals, changed, status: summary?.status, listed: summary?.listed };
}

function aRejected(id: bigint): ListedItem {
  const raw = aLead({ id, client_email: null });
  const reason = 'A text is required here, and this is null.';
  return { kind: 'rejected', position: 0, id, raw, hash: hashOf(raw), reason, path: 'client_email' };
}
