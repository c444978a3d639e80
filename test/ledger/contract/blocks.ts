import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BlockHead, ListedItem } from '../../../src/leads/listed-lead.ts';
import type { PollEnd } from '../../../src/ledger/contract/ledger-polling.ts';
import { aLead, aListedLead, blockOf, hashOf } from '../../support/scene/a-lead.ts';
import { changedLead, LedgerUnderTest, type OpenLedger } from '../ledger-under-test.ts';

const complete: PollEnd = { status: 'success', bytes: 1, httpStatus: 200, mark: undefined };
const brokenOff: PollEnd = { status: 'partial', httpStatus: 200, error: 'incomplete' };

/** Registers the tests of what every ledger promises about a listing's blocks: they save work and change no result. */
export function blocksContract(store: () => OpenLedger, runs = 60): void {
  describe('a block that the last listing contained', () => {
    it('a known block is not read, and its leads count as listed', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      expect(await list(on, [[1, 2], [3]])).toMatchObject({ lookedInto: 3, listed: 3, status: 'success' });
      expect(await list(on, [[1, 2], [4]])).toMatchObject({ lookedInto: 1, listed: 3, status: 'success' });
      expect(await on.owed('crm')).toEqual(['1 v1 pending', '2 v1 pending', '3 v1 pending', '4 v1 pending']);
    });

    it('a listing of known blocks alone is unchanged, and as fresh as any', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await list(on, [[1, 2], [3]]);
      on.clock.jump(60_000);
      expect(await list(on, [[3], [1, 2]])).toMatchObject({ lookedInto: 0, listed: 3, status: 'unchanged' });
      const [main] = (await on.ledger.status()).sources;
      expect(main?.lastSuccessAt).toEqual(on.clock.now());
      expect(main?.lastPoll).toMatchObject({ status: 'unchanged', listed: 3 });
    });

    it('a listing is not unchanged if it lacks a block or the last one had leads outside of blocks', async () => {
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

    it('a block is known only from the last listing: a lead may have changed since and changed back', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await list(on, [[1, 2]]);
      await list(on, [[changedLead(1, 'Somebody Else'), 2]]);
      expect(await list(on, [[1, 2]])).toMatchObject({ changed: 1, status: 'success' });
    });

    it.each([
      ['broke off', brokenOff],
      ['was never ended', 'never' as const],
    ])('no block is known after a poll that %s: a lead may have changed', async (_, end) => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await list(on, [[1, 2], [3]]);
      await list(on, [[changedLead(1, 'Somebody Else'), 2]], end);
      expect(await list(on, [[1, 2], [3]])).toMatchObject({ lookedInto: 1, changed: 1 });
    });

    it('a block stays known after a poll that read nothing', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await list(on, [[1, 2], [3]]);
      await list(on, [], { status: 'failed', httpStatus: 503, error: 'server' });
      await list(on, [], { status: 'unchanged', httpStatus: 304, bytes: 0 });
      expect(await list(on, [[1, 2], [3]])).toMatchObject({ lookedInto: 0, status: 'unchanged' });
    });

    it('no block is known after an empty listing whose end could not be recorded: its leads may count as gone', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await list(on, [[1, 2], [3]]);
      const poll = await on.ledger.startPoll('main');
      const unfit = { url: 1n as unknown as string, etag: undefined };
      await expect(
        on.ledger.finishPoll(poll, { status: 'success', bytes: 1, httpStatus: 200, mark: unfit }),
      ).rejects.toThrow();
      await on.ledger.finishPoll(poll, { status: 'failed', httpStatus: 200, error: 'ledger' });
      expect(await list(on, [[1, 2], [3]])).toMatchObject({ listed: 3, status: 'success' });
    });

    it('a block with a rejected element is not known, so that each poll reports the rejection', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const listing = [[aRejected(7n), 1], [2]];
      await list(on, listing);
      expect(await list(on, listing)).toMatchObject({ lookedInto: 1, rejected: 1, status: 'success' });
      expect((await on.ledger.vitals(on.clock.now())).sources[0]).toMatchObject({ rejected: 1 });
      expect(await list(on, [[7, 1], [2]])).toMatchObject({ new: 1, rejected: 0 });
    });

    it('a block of one source is not known to another', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await list(on, [[1, 2]], complete, 'north');
      expect(await list(on, [[1, 2]], complete, 'south')).toMatchObject({ new: 2 });
    });

    it("a known block counts as the lead's known content, even after a rejected one in the same listing", async () => {
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

    it('a block is not known if one of its leads changed earlier in the same listing', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const other = changedLead(1, 'Somebody Else');
      await list(on, [[1, 2], [3]]);
      expect(await list(on, [[other], [1, 2], [3]])).toMatchObject({ changed: 1, rejected: 1 });
      expect(await list(on, [[1, 2], [3]])).toMatchObject({ changed: 1, lookedInto: 1 });
    });

    it('a block is not known if it could not be recorded', async () => {
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

    it('blocks begin together up to the first that is not known', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await list(on, [[1], [2], [3]]);
      const poll = await on.ledger.startPoll('main');
      expect(await on.ledger.beginKnown(poll, [])).toBe(0);
      expect(await on.ledger.beginKnown(poll, [headOf([1]), headOf([4]), headOf([3])])).toBe(1);
      expect(await on.ledger.beginKnown(poll, [headOf([3])])).toBe(1);
      expect(await on.ledger.finishPoll(poll, complete)).toMatchObject({ listed: 2, status: 'success' });
      expect((await on.ledger.status()).sources[0]).toMatchObject({ listed: 2, leads: 3 });
    });

    it('a known block writes nothing if it is recorded in one call', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await list(on, [[1, 2]]);
      expect(await list(on, [[1, 2]], complete, 'main', 'one call')).toMatchObject({
        new: 0,
        changed: 0,
        status: 'unchanged',
        listed: 2,
      });
    });

    it('every way of beginning a block records the same', async () => {
      const item = fc
        .tuple(fc.integer({ min: 1, max: 5 }), fc.constantFrom('', 'A', 'B', 'rejected', 'rejected now'))
        .map(([id, content]): ListedItem => {
          if (content === 'rejected') return aRejected(BigInt(id));
          // As a later version rejects what an earlier one has recorded.
          if (content === 'rejected now') return { ...aRejected(BigInt(id)), hash: aListedLead({ id }).hash };
          return content === '' ? aListedLead({ id }) : changedLead(id, content);
        });
      const listing = fc.array(fc.array(item, { minLength: 1, maxLength: 3 }), { maxLength: 4 });
      const ends = fc.constantFrom<PollEnd | 'never'>(complete, complete, brokenOff, 'never');
      const history = fc.array(fc.tuple(listing, ends), { minLength: 2, maxLength: 5 });
      await fc.assert(
        fc.asyncProperty(history, async (polls) => {
          const results = [];
          for (const way of WAYS) {
            const on = await LedgerUnderTest.with(store(), 'crm');
            const totals = [];
            for (const [blocks, end] of polls) {
              const { lookedInto: _, ...total } = await list(on, blocks, end, 'main', way);
              totals.push(total);
            }
            results.push({
              totals,
              owed: await on.owed('crm'),
              source: (await on.ledger.status()).sources[0],
            });
            await on.ledger.close();
          }
          const [first, ...others] = results;
          for (const other of others) expect(other).toEqual(first);
        }),
        { numRuns: runs },
      );
    });
  });
}

/** How a poll begins blocks: one by one, asking for what is unknown; each with its items; or the known ones together. */
const WAYS = ['asking first', 'one call', 'known together'] as const;

/** The head of a block of these leads, as `list` lists it. */
function headOf(ids: readonly number[]): BlockHead {
  return { hash: ids.map((id) => aListedLead({ id }).hash).join(), size: ids.length };
}

/** Lists these blocks as a poll does, each with a hash of its content. */
async function list(
  on: LedgerUnderTest,
  blocks: readonly (readonly (ListedItem | number)[])[],
  end: PollEnd | 'never' = complete,
  source = 'main',
  way: (typeof WAYS)[number] = 'asking first',
) {
  const poll = await on.ledger.startPoll(source);
  const totals = { lookedInto: 0, new: 0, changed: 0, rejected: 0 };
  const listed = blocks.map((block) =>
    block.map((item) => (typeof item === 'number' ? aListedLead({ id: item }) : item)),
  );
  let left = listed.map((items) => ({ items, block: blockOf(items, items.map(({ hash }) => hash).join()) }));
  for (let next = left[0]; next; next = left[0]) {
    if (way === 'known together') {
      const heads = left.map(({ block: { hash, size } }) => ({ hash, size }));
      left = left.slice(await on.ledger.beginKnown(poll, heads));
      [next] = left;
      if (!next) break;
    }
    const { block, items } = next;
    left = left.slice(1);
    const isOneCall = way === 'one call';
    const unknown = isOneCall
      ? items
      : (await on.ledger.unknownElements(poll, block)).map((element) => element.read());
    if (unknown.length === 0) continue;
    totals.lookedInto += unknown.length;
    const { hash, size } = block;
    const recorded = await on.ledger.record(poll, unknown, isOneCall ? { hash, size } : undefined);
    totals.new += recorded.new;
    totals.changed += recorded.changed;
    totals.rejected += recorded.rejected;
  }
  const summary = end === 'never' ? undefined : await on.ledger.finishPoll(poll, end);
  // Held-back leads are decided when the listing ends.
  const changed = summary?.changed ?? totals.changed;
  return { ...totals, changed, status: summary?.status, listed: summary?.listed };
}

function aRejected(id: bigint): ListedItem {
  const raw = aLead({ id, client_email: null });
  const reason = 'A text is required here, and this is null.';
  return { kind: 'rejected', position: 0, id, raw, hash: hashOf(raw), reason, path: 'client_email' };
}
