import { describe, expect, it } from 'vitest';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { aSink, changedLead, ids, LedgerUnderTest, MINUTE, type OpenLedger } from '../ledger-under-test.ts';

const both = ['created', 'updated'] as const;

/** Registers the tests of what every ledger promises to a sink that is new or returns. */
export function backfillContract(store: () => OpenLedger): void {
  describe('backfill', () => {
    it('a new sink is owed everything that was listed before it was added', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 5));
      await on.declare('crm', 'late');
      expect(await on.owed('late')).toEqual([]);
      expect(await backfillAll(on, 'late')).toEqual({ owed: 5, skipped: 0 });
      expect((await on.owed('late')).every((row) => row.endsWith('v1 pending'))).toBe(true);
      expect(await backfillAll(on, 'late')).toEqual({ owed: 0, skipped: 0 });
      expect(await backfillAll(on, 'crm')).toEqual({ owed: 0, skipped: 0 });
    });

    it('with backfill off, those deliveries are recorded as skipped, with the reason', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 5));
      await on.declare('crm', aSink('late', { backfill: false }));
      expect(await backfillAll(on, 'late')).toEqual({ owed: 0, skipped: 5 });
      const [row] = await on.ledger.deliveries({ sink: 'late' }, { limit: 1 });
      expect(row).toMatchObject({ state: 'skipped', reason: expect.stringContaining('backfill') });
      await on.list(ids(1, 6));
      expect((await on.owed('late')).at(-1)).toBe('6 v1 pending');
    });

    it('the first listing of a source counts as listed before its sinks were added', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('now', { backfill: false }), 'all');
      await on.list([1, 2]);
      await on.list([1, 2, 3]);
      expect(await on.owed('now')).toEqual(['1 v1 skipped', '2 v1 skipped', '3 v1 pending']);
      expect(await on.owed('all')).toEqual(['1 v1 pending', '2 v1 pending', '3 v1 pending']);
    });

    it('while a first listing is incomplete, the age of a lead decides whether it is old', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('now', { backfill: false }));
      const broken = { status: 'partial', httpStatus: 200, error: 'incomplete' } as const;
      const old = aListedLead({ id: 2, created_at: '2026-11-19T10:00:00.000Z' });
      const fresh = aListedLead({ id: 3, created_at: '2026-11-20T10:00:30.000Z' });
      await on.list([1], 'main', broken);
      await on.list([1, old, fresh], 'main', broken);
      expect(await on.owed('now')).toEqual(['1 v1 skipped', '2 v1 skipped', '3 v1 pending']);
    });

    describe('a lead whose content retention removed before the sink was added', () => {
      async function withEmptied(sink: Parameters<typeof aSink>[1] = {}): Promise<LedgerUnderTest> {
        const on = await LedgerUnderTest.with(store(), 'crm');
        await on.list([1, 2]);
        await on.attemptAll('crm');
        on.clock.jump(MINUTE);
        await on.ledger.removeOld('leads', on.clock.now(), 0);
        await on.declare('crm', aSink('late', sink));
        return on;
      }

      it('it is skipped, with the reason', async () => {
        const on = await withEmptied();
        expect(await backfillAll(on, 'late')).toEqual({ owed: 0, skipped: 2 });
        const [row] = await on.ledger.deliveries({ sink: 'late' }, { limit: 1 });
        expect(row).toMatchObject({ state: 'skipped', reason: expect.stringContaining('no longer stored') });
        expect(await backfillAll(on, 'late')).toEqual({ owed: 0, skipped: 0 });
      });

      it.each([[['created']], [both]] as const)(
        'it is owed as a new lead once its content changes, to a sink of %j',
        async (events) => {
          const on = await withEmptied({ events });
          await backfillAll(on, 'late');
          await on.list([changedLead(1, 'B'), 2]);
          expect(await on.owed('late')).toEqual(['1 v1 skipped', '2 v1 skipped', '1 v2 pending']);
          const { batch } = await on.take('late');
          expect(batch.deliveries).toMatchObject([{ event: 'created', version: 2 }]);
          expect(await on.owed('crm')).toEqual(['1 v1 delivered', '2 v1 delivered']);
        },
      );

      it('it is owed as a new lead if its content changed while the sink was away', async () => {
        const on = await withEmptied();
        await backfillAll(on, 'late');
        await on.declare('crm');
        await on.list([changedLead(1, 'B'), 2]);
        await on.declare('crm', 'late');
        expect(await backfillAll(on, 'late')).toEqual({ owed: 1, skipped: 0 });
        expect((await on.take('late')).batch.deliveries).toMatchObject([{ event: 'created', version: 2 }]);
      });

      it('with backfill off, it stays skipped', async () => {
        const on = await withEmptied({ backfill: false });
        expect(await backfillAll(on, 'late')).toEqual({ owed: 0, skipped: 2 });
        await on.list([changedLead(1, 'B'), 2]);
        expect(await on.owed('late')).toEqual(['1 v1 skipped', '2 v1 skipped']);
      });
    });

    it('a returning sink is owed what was listed in the meantime, and nothing twice', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list([1, 2]);
      await on.declare('crm');
      await on.list([1, 2, 3, 4]);
      expect(await on.owed('drop')).toEqual(['1 v1 pending', '2 v1 pending']);
      await on.declare('crm', 'drop');
      await on.list([1, 2, 3, 4, 5]);
      expect(await backfillAll(on, 'drop')).toEqual({ owed: 2, skipped: 0 });
      expect((await on.owed('drop')).sort()).toEqual(ids(1, 5).map((id) => `${id} v1 pending`));
    });

    it('a returning sink that asks for changes is owed those of the meantime, newest content only', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', aSink('mirror', { events: both }));
      await on.list([1, 2]);
      await on.attemptAll('mirror');
      await on.declare('crm');
      await on.list([changedLead(1, 'B'), 2]);
      await on.list([changedLead(1, 'C'), 2, 3]);
      await on.declare('crm', aSink('mirror', { events: both }));
      await backfillAll(on, 'mirror');
      expect(await on.owed('mirror')).toEqual([
        '1 v1 delivered',
        '2 v1 delivered',
        '1 v3 pending',
        '3 v1 pending',
      ]);
    });

    it('a backfill continues after a crash between two parts without losing or repeating a lead', async () => {
      const open = store();
      const on = await LedgerUnderTest.with(open, 'crm');
      await on.list(ids(1, 1000));
      await on.declare('crm', 'late');
      const first = await on.ledger.backfill('late');
      expect(first.done).toBe(false);
      const restarted = on.again();
      await restarted.declare('crm', 'late');
      const rest = await backfillAll(restarted, 'late');
      expect(first.owed + rest.owed).toBe(1000);
      expect(new Set(await restarted.owed('late')).size).toBe(1000);
    });

    it('a backfill that stopped because its sink was removed continues where it stopped', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 500));
      await on.declare('crm', 'late');
      const first = await on.ledger.backfill('late');
      await on.list(ids(1, 510));
      await on.declare('crm');
      await on.list(ids(1, 520));
      await on.declare('crm', 'late');
      await on.list(ids(1, 530));
      const rest = await backfillAll(on, 'late');
      expect(first.owed + rest.owed).toBe(510);
      const owed = await on.owed('late');
      expect([owed.length, new Set(owed).size]).toEqual([530, 530]);
    });

    it('a lead that changed meanwhile is owed once, with its current content', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 400));
      await on.declare('crm', 'late', aSink('mirror', { events: both }));
      await on.ledger.backfill('late');
      await on.ledger.backfill('mirror');
      await on.list([...ids(1, 399), changedLead(400, 'Changed')]);
      await backfillAll(on, 'late');
      await backfillAll(on, 'mirror');
      for (const sink of ['late', 'mirror'])
        expect((await on.owed(sink)).filter((row) => row.startsWith('400 '))).toEqual(['400 v2 pending']);
    });
  });
}

async function backfillAll(on: LedgerUnderTest, sink: string): Promise<{ owed: number; skipped: number }> {
  const total = { owed: 0, skipped: 0 };
  for (let part = await on.ledger.backfill(sink); ; part = await on.ledger.backfill(sink)) {
    total.owed += part.owed;
    total.skipped += part.skipped;
    if (part.done) return total;
  }
}
