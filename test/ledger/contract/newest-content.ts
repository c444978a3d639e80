import { describe, expect, it } from 'vitest';
import type { Unavailable } from '../../../src/leads/outcome.ts';
import {
  aSink,
  changedLead,
  delivered,
  LedgerUnderTest,
  MINUTE,
  type OpenLedger,
  refused,
  unanswered,
  unavailable,
} from '../ledger-under-test.ts';

const unsent: Unavailable = { kind: 'unavailable', reason: 'Nobody is there.', unsent: true };
const gateway: Unavailable = { kind: 'unavailable', reason: 'It is slow.', httpStatus: 504 };
const both = ['created', 'updated'] as const;
/** Two leads: the first changes, the second shows that the sink works. */
const old = [1, 2];
const changed = [changedLead(1, 'B'), 2];

/** What every ledger promises of a lead that changes before a sink has got it, above all to sinks that do not ask for changes. */
export function newestContentContract(store: () => OpenLedger): void {
  describe('a lead that changes before its sink has got it', () => {
    it('after a failed attempt is owed in its newest content at once', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await attemptOf1(on, unavailable);
      await on.list(changed);
      expect(await of1(on)).toEqual(['1 v1 skipped', '1 v2 pending']);
      expect(await on.attemptAll('crm')).toContainEqual([1n]);
      expect(await of1(on)).toEqual(['1 v1 skipped', '1 v2 delivered']);
    });

    it('is owed as a new lead, once', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await attemptOf1(on, unavailable);
      await on.list(changed);
      await on.list([changedLead(1, 'C'), 2]);
      expect(await of1(on)).toEqual(['1 v1 skipped', '1 v3 pending']);
      const [, newest] = (await on.ledger.deliveries({ lead: 1n }, { limit: 9 })).toReversed();
      expect(newest).toMatchObject({ event: 'created', version: 3 });
    });

    it.each([
      ['refuses it', refused, '1 v1 dead'],
      ['says that it is down', unavailable, '1 v1 skipped'],
      ['could not be connected to', unsent, '1 v1 skipped'],
    ])('while an attempt is under way is owed anew once the destination %s', async (_, outcome, before) => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(old);
      const { ref } = await on.take('crm', { window: 1 });
      await on.list(changed);
      expect(await of1(on)).toEqual(['1 v1 pending']);
      await on.settle(ref, outcome);
      expect(await of1(on)).toEqual([before, '1 v2 pending']);
    });

    it.each([
      ['nobody answers', unanswered],
      ['a gateway answers for the destination', gateway],
    ])('stays as it was sent while %s, for it may have arrived', async (_, outcome) => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await attemptOf1(on, outcome);
      await on.list(changed);
      expect(await of1(on)).toEqual(['1 v1 pending']);
      on.clock.jump(MINUTE);
      expect(await on.attemptAll('crm')).toEqual([[1n]]);
      expect(await of1(on)).toEqual(['1 v1 delivered']);
    });

    it('is owed in its newest content when what may have arrived is given up', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await attemptOf1(on, unanswered);
      await on.list(changed);
      on.clock.jump(MINUTE);
      await on.attemptAll('crm', refused);
      expect(await of1(on)).toEqual(['1 v1 dead', '1 v2 pending']);
    });

    it('may have arrived when its attempt was lost, or cut off by a stop', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 3]);
      const [lost, stopped] = (await on.claim('crm')).refs;
      if (!lost || !stopped) throw new Error('two batches were expected');
      await on.begin(lost);
      await on.begin(stopped);
      await on.ledger.release(stopped, true);
      on.clock.jump(2 * MINUTE);
      await on.claim('crm');
      await on.list([changedLead(1, 'B'), changedLead(3, 'B')]);
      expect(await on.owed('crm')).toEqual(['1 v1 pending', '3 v1 pending']);
    });

    it('has not arrived when its attempt was given back before anything was sent', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.ledger.release((await on.take('crm')).ref, false);
      await on.list([changedLead(1, 'B')]);
      const { batch } = await on.take('crm');
      expect(batch.deliveries).toMatchObject([{ version: 2, event: 'created' }]);
    });

    it('is sent as it is when its batch has left for the queue, and no attempt has begun', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const { refs } = await on.claim('crm');
      await on.list([changedLead(1, 'B')]);
      const [ref] = refs;
      const batch = ref && (await on.ledger.begin(ref, MINUTE))?.batch;
      expect(batch?.deliveries).toMatchObject([{ version: 2, event: 'created' }]);
    });

    it('leaves a batch that is known not to have arrived, and not one that may have', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', aSink('mirror', { events: both }));
      for (const sink of ['crm', 'mirror'])
        for (const [outcome, leads] of [
          [unavailable, [1, 2]],
          [unanswered, [1, 2, 3, 4]],
        ] as const) {
          await on.list(leads);
          const { refs } = await on.claim(sink, { max: 2 });
          for (const ref of refs) {
            const { batch } = await on.begin(ref);
            await on.settle(ref, ...batch.deliveries.map(() => outcome));
          }
        }
      await on.list([changedLead(1, 'B'), 2, changedLead(3, 'B'), 4]);
      expect((await on.owed('crm')).slice(0, 4)).toEqual([
        '1 v1 skipped',
        '2 v1 pending',
        '3 v1 pending',
        '4 v1 pending',
      ]);
      expect((await on.owed('crm')).slice(4)).toEqual(['1 v2 pending']);
      expect((await on.owed('mirror')).slice(4)).toEqual(['1 v2 pending', '3 v2 pending']);
    });

    it('is not sent again as a new lead in place of a change that failed', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: both }));
      await on.list(old);
      await on.attemptAll('crm');
      await on.list(changed);
      await on.attemptAll('crm', unavailable);
      await on.declare('crm');
      await on.list([changedLead(1, 'C'), 2]);
      const [newest] = await on.ledger.deliveries({ lead: 1n }, { limit: 1 });
      expect(newest).toMatchObject({ version: 3, event: 'updated', state: 'pending' });
    });
  });

  describe('a lead that changes while its sink is away', () => {
    it.each([true, false])(
      'is brought in its newest content when it waits (backfill: %s)',
      async (backfill) => {
        const crm = aSink('crm', { backfill });
        const on = await LedgerUnderTest.with(store(), 'other', crm);
        await on.list([]);
        await on.list(old);
        await on.declare('other');
        await on.list(changed);
        await on.declare('other', crm);
        await on.ledger.backfill('crm');
        expect(await of1(on)).toEqual(['1 v2 pending']);
      },
    );

    it('is brought so by an attempt that comes before the backfill', async () => {
      const on = await LedgerUnderTest.with(store(), 'other', 'crm');
      await on.list(old);
      await on.declare('other');
      await on.list(changed);
      await on.declare('other', 'crm');
      const { batch, ref } = await on.take('crm', { max: 2 });
      expect(batch.deliveries.map(({ version }) => version)).toEqual([2, 1]);
      await on.settle(ref, delivered, delivered);
      await on.ledger.backfill('crm');
      expect(await of1(on)).toEqual(['1 v2 delivered']);
    });

    it('is owed once more when it had failed, or was given up', async () => {
      for (const [outcome, before] of [
        [unavailable, '1 v1 skipped'],
        [refused, '1 v1 dead'],
      ] as const) {
        const on = await LedgerUnderTest.with(store(), 'other', 'crm');
        await attemptOf1(on, outcome);
        await on.declare('other');
        await on.list(changed);
        await on.declare('other', 'crm');
        await on.ledger.backfill('crm');
        expect(await of1(on)).toEqual([before, '1 v2 pending']);
      }
    });

    it('is tried again in its newest content by `retry`, in the place of what was given up', async () => {
      const on = await LedgerUnderTest.with(store(), 'other', 'crm');
      await attemptOf1(on, refused);
      await on.declare('other');
      await on.list(changed);
      await on.declare('other', 'crm');
      expect(await on.ledger.retry({ states: ['dead'] })).toBe(1);
      const { batch, ref } = await on.take('crm');
      expect(batch.deliveries).toMatchObject([{ version: 2, event: 'created' }]);
      await on.settle(ref, delivered);
      expect(await of1(on)).toEqual(['1 v1 skipped', '1 v2 delivered']);
    });
  });
}

/** Lists two leads; an attempt of the first one ends so, and the second one arrives. */
async function attemptOf1(on: LedgerUnderTest, outcome: typeof refused | Unavailable): Promise<void> {
  await on.list(old);
  const first = await on.take('crm', { window: 1 });
  await on.settle(first.ref, outcome);
  await on.attemptAll('crm');
}

/** What `crm` is owed of lead 1. */
async function of1(on: LedgerUnderTest): Promise<string[]> {
  return (await on.owed('crm')).filter((row) => row.startsWith('1 '));
}
