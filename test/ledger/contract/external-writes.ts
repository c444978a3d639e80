import { describe, expect, it } from 'vitest';
import { HOUR, LedgerUnderTest, type OpenLedger } from '../ledger-under-test.ts';

/** What every ledger promises about writes of other processes. */
export function externalWritesContract(store: () => OpenLedger): void {
  describe('writes of other processes', () => {
    it('the ledger notices a write of another process once', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const other = on.again();
      expect(await on.ledger.changedElsewhere()).toBe(false);
      await on.list([1]);
      expect(await on.ledger.changedElsewhere()).toBe(false);
      const written = on.ledger.nextWrite(HOUR, new AbortController().signal);
      await other.ledger.pause('crm', 'maintenance');
      await written;
      expect(await on.ledger.changedElsewhere()).toBe(true);
      expect(await on.ledger.changedElsewhere()).toBe(false);
    });

    it('a wait for a write ends with one, also with one that comes before the wait', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const { signal } = new AbortController();
      const other = on.again();
      const written = on.ledger.nextWrite(HOUR, signal);
      await other.list([1]);
      await written;
      expect(await on.ledger.changedElsewhere()).toBe(true);
    });

    it('a wait for a write ends after its time, and when it is aborted', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const stop = new AbortController();
      const [short, long] = [on.ledger.nextWrite(5_000, stop.signal), on.ledger.nextWrite(HOUR, stop.signal)];
      await on.clock.pass(5_000);
      await short;
      stop.abort();
      await long;
      expect(on.clock.sleeping).toBe(0);
      await on.ledger.nextWrite(HOUR, stop.signal);
    });
  });
}
