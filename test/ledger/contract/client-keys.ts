import { describe, expect, it } from 'vitest';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { ids, LedgerUnderTest, type OpenLedger } from '../ledger-under-test.ts';

const SECRET = 'a secret of some length';
const unreachable = { client_email: null, client_phone_number: null };

/** Registers the tests of what every ledger promises about client keys. */
export function clientKeysContract(store: () => OpenLedger): void {
  describe('client keys', () => {
    const compute = async ({ ledger }: LedgerUnderTest, secret: string | undefined) => {
      while (!(await ledger.computeClientKeys(secret)));
    };
    /** Returns the client keys of leads; undefined for a lead that has none. */
    const keysOf = async ({ ledger }: LedgerUnderTest, ...leads: number[]) => {
      const keys = [];
      for (const lead of leads) {
        const person = { leads: [{ source: 'main', leadId: BigInt(lead) }], rejected: [] };
        keys.push((await ledger.personRecord(person))['client_keys']?.[0]?.['client_key']);
      }
      return keys;
    };

    it('leads of the same client have the same key, and those without a contact an empty one', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([
        aListedLead({ id: 1, client_email: 'ada@example.com' }),
        aListedLead({ id: 2, client_email: 'ADA@example.com' }),
        aListedLead({ id: 3, client_email: 'grace@example.com' }),
        aListedLead({ id: 4, ...unreachable }),
      ]);
      await compute(on, SECRET);
      const [ada, again, grace, nothing] = await keysOf(on, 1, 2, 3, 4);
      expect(ada).toMatch(/^[0-9a-f]{32}$/);
      expect(again).toBe(ada);
      expect(grace).toMatch(/^[0-9a-f]{32}$/);
      expect(grace).not.toBe(ada);
      expect(nothing).toBe('');
    });

    it('the key of a lead is that of its newest content', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const [ada, grace] = [{ client_email: 'ada@example.com' }, { client_email: 'grace@example.com' }];
      await on.list([aListedLead({ id: 1, ...ada }), aListedLead({ id: 2, ...grace })]);
      await on.list([aListedLead({ id: 1, ...grace }), aListedLead({ id: 2, ...grace })]);
      await compute(on, SECRET);
      const [first, second] = await keysOf(on, 1, 2);
      expect(first).toBe(second);
    });

    it('another secret makes other keys, and no secret none', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await compute(on, SECRET);
      const [first] = await keysOf(on, 1);
      await compute(on, 'another secret');
      const [second] = await keysOf(on, 1);
      expect(second).toMatch(/^[0-9a-f]{32}$/);
      expect(second).not.toBe(first);
      await compute(on, undefined);
      expect(await keysOf(on, 1)).toEqual([undefined]);
    });

    it('keys are computed in parts, of leads that came since too', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 600));
      expect(await on.ledger.computeClientKeys(SECRET)).toBe(false);
      await compute(on, SECRET);
      expect(await on.ledger.computeClientKeys(SECRET)).toBe(true);
      await on.list(ids(1, 601));
      expect(await on.ledger.computeClientKeys(SECRET)).toBe(false);
      const [old, fresh] = await keysOf(on, 600, 601);
      expect(fresh).toBe(old);
    });

    it('an erased lead has no key', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      await compute(on, SECRET);
      await on.ledger.erase({ leads: [{ source: 'main', leadId: 1n }], rejected: [] }, []);
      await compute(on, SECRET);
      expect(await keysOf(on, 1, 2)).toEqual([undefined, expect.stringMatching(/^[0-9a-f]{32}$/)]);
    });
  });
}
