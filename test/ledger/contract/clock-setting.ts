import { describe, expect, it } from 'vitest';
import { HOUR, ids, LedgerUnderTest, MINUTE, type OpenLedger, unavailable } from '../ledger-under-test.ts';

const DAY = 24 * HOUR;
/** More deliveries than one transaction moves. */
const MANY = 4_500;

/** Registers the tests of what every ledger promises when the machine's clock is set back. */
export function clockSettingContract(store: () => OpenLedger): void {
  describe('a clock that is set back', () => {
    it('times that move by a fraction of a millisecond stay whole milliseconds, wherever something was due later', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list([1, 2, 3]);
      // One delivery waits by itself, one in its batch, one under a lease; and the sink waits for its probe.
      await on.take('drop', { leaseMs: HOUR, window: 1 });
      for (let failure = 0; failure < 3; failure += 1) {
        await on.attemptAll('crm', unavailable, { window: 1, max: 2 });
        on.clock.jump(10 * MINUTE);
      }
      on.clock.setBack(5 * HOUR);
      await on.ledger.clockWentBack(5 * HOUR + 0.4);
      const dues = (await on.ledger.deliveries({}, { limit: 10 })).map((row) => row.nextAttemptAt?.getTime());
      expect(dues.filter((due) => due !== undefined && due > on.clock.in(0).getTime())).toEqual([]);
      expect(await on.ledger.clockAt()).toEqual(on.clock.now());
    });

    it('deliveries that wait for longer than that keep their remaining wait', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const [ref] = (await on.claim('crm', { leaseMs: 5 * HOUR })).refs;
      on.clock.setBack(HOUR);
      await on.ledger.clockWentBack(HOUR + 0.7);
      on.clock.jump(5 * HOUR - MINUTE);
      expect((await on.claim('crm')).refs).toEqual([]);
      on.clock.jump(2 * MINUTE);
      expect((await on.claim('crm')).refs).toMatchObject([{ batch: ref?.batch }]);
    });

    it('a backlog of thousands is moved once, for every sink', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop', 'warehouse');
      on.clock.jump(3 * HOUR);
      await on.list(ids(1, MANY));
      on.clock.setBack(HOUR);
      await on.ledger.clockWentBack(HOUR);
      for (const sink of ['crm', 'drop', 'warehouse'])
        expect((await on.claim(sink, { max: MANY })).refs).toHaveLength(1);
      expect((await on.ledger.clockWentBack(HOUR)) ?? 0).toBe(0);
    });

    it('no listing dated in the future remains for later listings to be compared with', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const ahead = 365 * DAY;
      on.clock.jump(ahead);
      await on.list(ids(1, 40));
      on.clock.setBack(ahead);
      await on.ledger.clockWentBack(ahead);
      await on.list(ids(1, 10));
      const [today] = (await on.ledger.status()).sources;
      expect(today).toMatchObject({ listed: 10, listedLately: 40 });
      on.clock.jump(8 * DAY);
      await on.list(ids(1, 10));
      const [later] = (await on.ledger.status()).sources;
      expect(later).toMatchObject({ listed: 10, listedLately: 10 });
    });
  });
}
