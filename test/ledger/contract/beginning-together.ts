import { describe, expect, it } from 'vitest';
import type { BatchRef } from '../../../src/leads/delivery.ts';
import {
  delivered,
  ids,
  LedgerUnderTest,
  MINUTE,
  type OpenLedger,
  unavailable,
} from '../ledger-under-test.ts';

/** Begins attempts in the same turn of the event loop. Returns for each the leads of its batch; undefined if there is nothing to attempt. */
async function beginAll(on: LedgerUnderTest, refs: readonly BatchRef[]) {
  const begun = await Promise.all(refs.map((ref) => on.ledger.begin(ref, MINUTE)));
  return begun.map((one) => one?.batch.deliveries.map(({ leadId }) => Number(leadId)));
}

/** Registers the tests of attempts that begin together, which a ledger may record in one commit. */
export function beginningTogetherContract(store: () => OpenLedger): void {
  describe('attempts that begin together', () => {
    it('each gets its own batch, and a lease that is used twice or not current gets none', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list(ids(1, 4));
      const [one, two, three, four] = (await on.claim('crm')).refs as [
        BatchRef,
        BatchRef,
        BatchRef,
        BatchRef,
      ];
      const [other] = (await on.claim('drop')).refs as [BatchRef];
      const outdated = { ...three, lease: three.lease + 1 };
      const unknown = { ...one, batch: 'no batch' };
      const begun = await beginAll(on, [two, one, outdated, other, two, unknown, four]);
      expect(begun).toEqual([[2], [1], undefined, [1], undefined, undefined, [4]]);
      expect(await beginAll(on, [one, three])).toEqual([undefined, [3]]);
      expect(await on.settle(two, delivered)).toBeDefined();
    });

    it('one batch of a held sink begins as its probe, and batches of a paused sink are put back', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop', 'fine');
      await on.list(ids(1, 4));
      const claimed = async (sink: string) => (await on.claim(sink)).refs;
      const [crm, drop, fine] = [await claimed('crm'), await claimed('drop'), await claimed('fine')];
      const [first, ...late] = crm as [BatchRef, ...BatchRef[]];
      await on.begin(first);
      await on.settle(first, { ...unavailable, retryAfterMs: 5_000 });
      await on.ledger.pause('drop', 'maintenance');
      on.clock.jump(6_000);
      const begun = await beginAll(on, [...late, ...drop, ...fine]);
      // Which one is the probe depends on which of them shares a transaction.
      const probes = late.filter((_, index) => begun[index] !== undefined);
      expect(probes).toHaveLength(1);
      const none = drop.map(() => undefined);
      expect(begun.slice(late.length)).toEqual([...none, [1], [2], [3], [4]]);
      await on.settle(probes[0] as BatchRef, delivered);
      await on.ledger.resume('drop');
      const numbers = async (sink: string) => (await claimed(sink)).map(({ batch }) => batch).sort();
      expect(await numbers('drop')).toEqual(drop.map(({ batch }) => batch).sort());
      const others = [first, ...late.filter((ref) => ref !== probes[0])];
      expect(await numbers('crm')).toEqual(others.map(({ batch }) => batch).sort());
    });
  });
}
