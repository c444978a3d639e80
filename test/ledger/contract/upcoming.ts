import { describe, expect, it } from 'vitest';
import { aSink, changedLead, delivered, LedgerUnderTest, type OpenLedger } from '../ledger-under-test.ts';

/** Registers the tests of what every ledger promises about a sink's next delivery. */
export function upcomingContract(store: () => OpenLedger): void {
  describe("a sink's next delivery of a lead", () => {
    it('it is the delivery that is attempted next', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const [next, ...more] = await on.ledger.upcoming('crm', 2n);
      const { batch } = await on.take('crm', { max: 2 });
      expect(more).toEqual([]);
      expect(next).toMatchObject({ state: 'pending', delivery: batch.deliveries[1] });
    });

    it('it is the last delivery if none is pending', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const { ref, batch } = await on.take('crm');
      await on.settle(ref, delivered);
      expect(await on.ledger.upcoming('crm', 1n)).toMatchObject([
        { state: 'delivered', delivery: { id: batch.deliveries[0]?.id }, settledAt: expect.any(Date) },
      ]);
    });

    it('if the lead was never owed, it is the delivery that would be, with the id that it then has', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const [foreseen] = await on.ledger.upcoming('late', 1n);
      expect(foreseen?.state).toBe(undefined);
      await on.declare('crm', aSink('late'));
      while (!(await on.ledger.backfill('late')).done);
      const { batch } = await on.take('late');
      expect(batch.deliveries).toEqual([foreseen?.delivery]);
    });

    it('it is the oldest of several pending deliveries', async () => {
      const on = await LedgerUnderTest.with(store(), { ...aSink('crm'), events: ['created', 'updated'] });
      await on.list([1]);
      const { batch } = await on.take('crm');
      await on.list([changedLead(1, 'Changed')]);
      expect(await on.ledger.upcoming('crm', 1n)).toMatchObject([{ delivery: batch.deliveries[0] }]);
    });

    it('there is none for a lead that no listing contained, or of another source', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      expect(await on.ledger.upcoming('crm', 2n)).toEqual([]);
      expect(await on.ledger.upcoming('crm', 1n, 'other')).toEqual([]);
    });
  });
}
