import { describe, expect, it } from 'vitest';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { LedgerUnderTest, type OpenLedger } from '../ledger-under-test.ts';

const ada = (id: number, more: object = {}) =>
  aListedLead({ id, client_name: 'Ada Example', client_email: `ada${id}@example.com`, ...more }, id);

/** Registers the tests of what every ledger promises about finding leads by their client. */
export function findingContract(store: () => OpenLedger): void {
  describe('finding leads by their client', () => {
    it('finds each lead once, the newest content first, with the contact of that content', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([ada(1), aListedLead({ id: 2 }, 2), ada(3)]);
      await on.list([ada(1, { client_phone_number: '020 7946 0018' }), aListedLead({ id: 2 }, 2), ada(3)]);
      const { rows, next } = await on.ledger.findLeads({ text: 'ADA' }, 10);
      expect(rows).toMatchObject([
        { source: 'main', lead: '1', version: 2, matchedVersion: 2, phone: '020 7946 0018' },
        { lead: '3', version: 1, matchedVersion: 1, name: 'Ada Example', email: 'ada3@example.com' },
      ]);
      expect(next).toBeUndefined();
    });

    it('finds a lead by a contact that it no longer has', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([ada(1)]);
      await on.list([ada(1, { client_name: 'Grace', client_email: 'grace@example.com' })]);
      expect((await on.ledger.findLeads({ text: 'ada example' }, 10)).rows).toMatchObject([
        { lead: '1', version: 2, matchedVersion: 1, name: 'Ada Example' },
      ]);
    });

    it('continues where the last page ended, and finds no lead twice', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3, 4].map((id) => ada(id)));
      await on.list([1, 2, 3, 4].map((id) => ada(id, { service_name: 'Changed' })));
      const found: string[] = [];
      let before: number | undefined;
      do {
        const { rows, next } = await on.ledger.findLeads({ text: 'ada', before }, 3);
        found.push(...rows.map(({ lead }) => lead));
        expect(next?.at).toSatisfy((at: unknown) => at === undefined || at === on.clock.now().getTime());
        before = next?.before;
      } while (before !== undefined);
      expect(found).toEqual(['4', '3', '2', '1']);
    });

    it('finds only leads of the requested source, and no data of an erased person', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([ada(1), ada(2)]);
      expect((await on.ledger.findLeads({ text: 'ada', source: 'other' }, 10)).rows).toEqual([]);
      await on.ledger.erase({ leads: [{ source: 'main', leadId: 1n }], rejected: [] }, []);
      expect((await on.ledger.findLeads({ text: 'ada', source: 'main' }, 10)).rows).toMatchObject([
        { lead: '2' },
      ]);
    });
  });
}
