import { describe, expect, it } from 'vitest';
import type { ListedItem } from '../../../src/leads/listed-lead.ts';
import { ids, type LedgerUnderTest, refused } from '../ledger-under-test.ts';
import { opened, type PagedStore } from '../paged-store.ts';

/** Registers the tests of how every ledger finds, groups and sorts the reasons of failures and rejections: in the same way, whatever its server is set to. */
export function reasonsContract(store: () => PagedStore): void {
  describe('the reasons of failures and rejections', () => {
    /** Refuses a lead for each reason. */
    const refuse = async (on: LedgerUnderTest, reasons: readonly string[]) => {
      await on.list(ids(1, reasons.length));
      const { ref } = await on.take('crm', { max: reasons.length });
      await on.settle(ref, ...reasons.map((reason) => ({ ...refused, reason })));
    };

    it('are found by a part of them, in upper and lower case of A to Z and in the exact form of other letters', async () => {
      const { on, queries } = await opened(store);
      await refuse(on, ['ÄRGER mit dem Feld', 'ärger mit dem Feld', 'Nothing.']);
      const found = async (reason: string) => {
        const leads = (await queries.ask('deliveries', { reason }, { limit: 9 })).rows.map(
          ({ lead }) => lead,
        );
        expect((await queries.ask('countDeliveries', { reason }, 10)).count).toBe(leads.length);
        expect((await on.ledger.replayable('crm', { reason })).leads).toBe(leads.length);
        return leads;
      };
      expect(await found('MIT dem fELD')).toEqual(['2', '1']);
      expect(await found('Ärger')).toEqual(['1']);
      expect(await found('äRGER')).toEqual(['2']);
      expect(await found('ÖRGER')).toEqual([]);
    });

    it('are grouped, most frequent first, and equally frequent ones by their characters', async () => {
      const { on, queries } = await opened(store);
      const reasons = [...ids(100, 200).map((n) => `No ${n}`), 'a', 'B', '_', 'b', 'A', 'b'];
      await refuse(on, reasons.toReversed());
      const found = await queries.ask('failureReasons');
      expect(found.reasons.map(({ reason }) => reason)).toEqual(
        ['b', ...reasons.filter((reason) => reason !== 'b').sort()].slice(0, 100),
      );
      expect(found).toMatchObject({ others: 6, isComplete: true });
      expect(found.reasons[0]).toMatchObject({
        reason: 'b',
        deliveries: 2,
        sinks: [{ sink: 'crm', deliveries: 2 }],
      });
      expect(await on.ledger.failureReasons()).toEqual(found);
    });

    it('of rejected leads are counted, equally frequent ones in the order of their characters', async () => {
      const { on, queries } = await opened(store);
      const rejected = (id: number, path: string, reason: string): ListedItem => ({
        ...{ kind: 'rejected', position: 0, id: BigInt(id), reason, path, hash: `hash ${id}`, raw: '{}' },
      });
      const faults = [
        ['B', 'x'],
        ['_', 'x'],
        ['a', 'B'],
        ['a', 'b'],
        ['b', 'x'],
      ] as const;
      await on.list(faults.toReversed().map(([path, reason], at) => rejected(at + 1, path, reason)));
      const counted = await queries.ask('countRejected', {}, 10);
      expect(counted.faults.map(({ path, reason }) => [path, reason])).toEqual(faults);
      const newest = await queries.ask('countRejected', {}, 2);
      expect(newest.faults.map(({ path }) => path)).toEqual(['B', '_']);
    });

    it('of the dead deliveries of a sink are named by the first one if several are equally frequent', async () => {
      const { on } = await opened(store);
      await refuse(on, ['a', 'b', 'B']);
      const { sinks } = await on.ledger.vitals(on.clock.in(-1));
      expect(sinks.find(({ sink }) => sink === 'crm')).toMatchObject({ deadReason: { reason: 'B' } });
    });
  });
}
