import { describe, expect, it } from 'vitest';
import type { ListedItem } from '../../../src/leads/listed-lead.ts';
import { aLead, hashOf } from '../../support/scene/a-lead.ts';
import { LedgerUnderTest, MINUTE, type OpenLedger } from '../ledger-under-test.ts';

/** Builds an element of a listing that cannot be recorded. */
function rejectedLead(id: number): ListedItem {
  const raw = aLead({ id, client_name: 5 });
  const hash = hashOf(raw);
  return {
    kind: 'rejected',
    position: 0,
    id: BigInt(id),
    raw,
    hash,
    reason: 'is no text',
    path: 'client_name',
  };
}

/** Registers the tests of what every ledger promises about the list of rejected leads. */
export function rejectedContract(store: () => OpenLedger): void {
  describe('the list of rejected leads', () => {
    /** Lists three rejected leads. The next listing has the first as valid, the second as before, and not the third. */
    const scene = async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const since = on.clock.now();
      await on.list([rejectedLead(7), rejectedLead(8), rejectedLead(9)]);
      on.clock.jump(MINUTE);
      await on.list([7, rejectedLead(8)]);
      return { on, since };
    };
    const shown = (rows: readonly { readonly lead_id: string | null; readonly state: string }[]) =>
      rows.map(({ lead_id, state }) => `${lead_id} ${state}`);

    it('says what became of each, newest first', async () => {
      const { on, since } = await scene();
      const { rows, next } = await on.ledger.rejected({}, { limit: 10 });
      expect(shown(rows)).toEqual(['9 gone', '8 open', '7 resolved']);
      expect(next).toBeUndefined();
      const now = on.clock.now().toISOString();
      expect(rows[1]).toMatchObject({
        source: 'main',
        path: 'client_name',
        reason: 'is no text',
        rejected_at: since.toISOString(),
        last_rejected_at: now,
        resolved_at: null,
      });
      expect(rows[2]).toMatchObject({ last_rejected_at: since.toISOString(), resolved_at: now });
      expect(JSON.stringify(rows)).not.toContain('example.com');
    });

    it('comes in pages, and only those that are asked for', async () => {
      const { on } = await scene();
      const first = await on.ledger.rejected({}, { limit: 2 });
      expect(shown(first.rows)).toEqual(['9 gone', '8 open']);
      const second = await on.ledger.rejected({}, { limit: 2, before: first.next });
      expect(shown(second.rows)).toEqual(['7 resolved']);
      expect(second.next).toBeUndefined();
      const open = await on.ledger.rejected({ state: 'open', source: 'main' }, { limit: 10 });
      expect(shown(open.rows)).toEqual(['8 open']);
      expect((await on.ledger.rejected({ source: 'other' }, { limit: 10 })).rows).toEqual([]);
    });

    it('returns the text of one', async () => {
      const { on } = await scene();
      const [row] = (await on.ledger.rejected({ state: 'open' }, { limit: 1 })).rows;
      const id = row?.rejected_id ?? 0;
      expect(await on.ledger.rejectedText(id)).toEqual({
        ...row,
        lead_id: '8',
        path: 'client_name',
        reason: 'is no text',
        state: 'open',
        raw: aLead({ id: 8, client_name: 5 }),
      });
      expect(await on.ledger.rejectedText(1_000_000)).toBeUndefined();
    });
  });
}
