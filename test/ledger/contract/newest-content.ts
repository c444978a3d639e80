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

/** Registers the tests of what every ledger promises about a lead that changes before a sink got it, above all to sinks without updates. */
export function newestContentContract(store: () => OpenLedger): void {
  describe('a lead that changes before its sink got it', () => {
    it('after a failed attempt, the newest content is owed immediately', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await attemptOf1(on, unavailable);
      await on.list(changed);
      expect(await of1(on)).toEqual(['1 v1 skipped', '1 v2 pending']);
      expect(await on.attemptAll('crm')).toContainEqual([1n]);
      expect(await of1(on)).toEqual(['1 v1 skipped', '1 v2 delivered']);
    });

    it('the newest content is owed as a new lead, once', async () => {
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
      ['reports that it is unavailable', unavailable, '1 v1 skipped'],
      ['cannot be reached', unsent, '1 v1 skipped'],
    ])(
      'if the lead changes during an attempt, the newest content is owed once the destination %s',
      async (_, outcome, before) => {
        const on = await LedgerUnderTest.with(store(), 'crm');
        await on.list(old);
        const { ref } = await on.take('crm', { window: 1 });
        await on.list(changed);
        expect(await of1(on)).toEqual(['1 v1 pending']);
        await on.settle(ref, outcome);
        expect(await of1(on)).toEqual([before, '1 v2 pending']);
      },
    );

    it.each([
      ['no answer comes', unanswered],
      ['a gateway answers for the destination', gateway],
    ])(
      'the lead keeps the content that was sent while %s, because it may have arrived',
      async (_, outcome) => {
        const on = await LedgerUnderTest.with(store(), 'crm');
        await attemptOf1(on, outcome);
        await on.list(changed);
        expect(await of1(on)).toEqual(['1 v1 pending']);
        on.clock.jump(MINUTE);
        expect(await on.attemptAll('crm')).toEqual([[1n]]);
        expect(await of1(on)).toEqual(['1 v1 delivered']);
      },
    );

    it('the newest content is owed once a delivery that may have arrived is given up', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await attemptOf1(on, unanswered);
      await on.list(changed);
      on.clock.jump(MINUTE);
      await on.attemptAll('crm', refused);
      expect(await of1(on)).toEqual(['1 v1 dead', '1 v2 pending']);
    });

    it('the lead may have arrived if its attempt was lost, or interrupted by a stop', async () => {
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

    it('the lead has not arrived if its attempt was released before anything was sent', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.ledger.release((await on.take('crm')).ref, false);
      await on.list([changedLead(1, 'B')]);
      const { batch } = await on.take('crm');
      expect(batch.deliveries).toMatchObject([{ version: 2, event: 'created' }]);
    });

    it('a batch that is in the queue without a begun attempt is sent as it is', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const { refs } = await on.claim('crm');
      await on.list([changedLead(1, 'B')]);
      const [ref] = refs;
      const batch = ref && (await on.ledger.begin(ref, MINUTE))?.batch;
      expect(batch?.deliveries).toMatchObject([{ version: 2, event: 'created' }]);
    });

    it('the lead leaves a batch that is known not to have arrived, but not one that may have', async () => {
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

    it('a failed change is not replaced by a new lead', async () => {
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
      'a pending lead is delivered in its newest content (backfill: %s)',
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

    it('an attempt before the backfill delivers the newest content as well', async () => {
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

    it('a failed or given-up lead is owed again', async () => {
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

    it('`retry` tries the newest content in place of the one that was given up', async () => {
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

/** Lists two leads. The first gets an attempt with this outcome; the second is delivered. */
async function attemptOf1(on: LedgerUnderTest, outcome: typeof refused | Unavailable): Promise<void> {
  await on.list(old);
  const first = await on.take('crm', { window: 1 });
  await on.settle(first.ref, outcome);
  await on.attemptAll('crm');
}

/** Returns the deliveries of lead 1 for `crm`. */
async function of1(on: LedgerUnderTest): Promise<string[]> {
  return (await on.owed('crm')).filter((row) => row.startsWith('1 '));
}
