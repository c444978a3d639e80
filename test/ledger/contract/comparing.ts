import { describe, expect, it } from 'vitest';
import {
  aSink,
  changedLead,
  delivered,
  HOUR,
  LedgerUnderTest,
  MINUTE,
  type OpenLedger,
} from '../ledger-under-test.ts';

const both = aSink('crm', { events: ['created', 'updated'] });
const lead = (leadId: bigint) => ({ source: 'main', leadId });

/** Registers the tests of what every ledger promises to those that compare it with a destination. */
export function comparingContract(store: () => OpenLedger): void {
  describe('comparing with a destination', () => {
    it('says of each lead whether it was delivered, is owed or was erased, in the order given', async () => {
      const on = await LedgerUnderTest.with(store(), both);
      await on.list([1, 3]);
      await on.attemptAll('crm');
      await on.list([1, 2, changedLead(3, 'B')]);
      await on.ledger.erase({ leads: [lead(1n)], rejected: [] }, []);
      const known = { lead: expect.any(Number), erased: false, delivered: undefined, owed: false };
      expect(await on.ledger.leadsAtSink('crm', [lead(3n), lead(4n), lead(1n), lead(2n)])).toEqual([
        { ...known, delivered: 1, owed: true },
        { ...known, lead: undefined },
        { ...known, erased: true, delivered: 1 },
        { ...known, owed: true },
      ]);
      expect(await on.ledger.leadsAtSink('', [lead(3n)])).toEqual([known]);
      expect(await on.ledger.leadsAtSink('crm', [])).toEqual([]);
    });

    it('returns the leads that are not erased, with the newest version delivered outside of a period', async () => {
      const on = await LedgerUnderTest.with(store(), both);
      await on.list([1, 2, 3]);
      await on.attemptAll('crm', delivered);
      await on.ledger.erase({ leads: [lead(1n)], rejected: [] }, []);
      on.clock.jump(HOUR);
      await on.list([1, changedLead(2, 'B'), 3]);
      await on.attemptAll('crm', delivered);
      await on.list([1, changedLead(2, 'B'), 3, 4]);
      const all = (except: { from: Date; to: Date }, after = 0, limit = 10) =>
        on.ledger.deliveredLeads('crm', except, after, limit);
      const lately = { from: on.clock.in(-MINUTE), to: on.clock.in(MINUTE) };
      const shown = (rows: Awaited<ReturnType<typeof all>>) =>
        rows.map(({ source, leadId, version, owed }) => `${source} ${leadId} v${version} ${owed}`);
      const before = await all(lately);
      expect(shown(before)).toEqual(['main 2 v1 false', 'main 3 v1 false', 'main 4 vundefined true']);
      expect(shown(await all({ from: on.clock.in(-3 * HOUR), to: on.clock.in(-2 * HOUR) }))).toEqual([
        'main 2 v2 false',
        'main 3 v1 false',
        'main 4 vundefined true',
      ]);
      expect(shown(await all(lately, 0, 1))).toEqual(['main 2 v1 false']);
      expect(shown(await all(lately, before[0]?.lead))).toEqual([
        'main 3 v1 false',
        'main 4 vundefined true',
      ]);
      expect(await all(lately, before[2]?.lead)).toEqual([]);
    });
  });
}
