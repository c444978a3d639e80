import { describe, expect, it } from 'vitest';
import { batchWebhookId } from '../../../src/platform/text/webhook-id.ts';
import { ids, LedgerUnderTest, MINUTE, type OpenLedger, refused } from '../ledger-under-test.ts';

/** Registers the tests of how every ledger finds deliveries by the id under which a receiver got them. */
export function webhookIdsContract(store: () => OpenLedger): void {
  describe('the webhook-id', () => {
    const found = async (on: LedgerUnderTest, webhookId: string, more: object = {}) =>
      (await on.ledger.deliveries({ webhookId, ...more }, { limit: 10 })).map(
        ({ sink, lead }) => `${sink} ${lead}`,
      );

    it('of one delivery finds this delivery, and nothing else does', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list([1, 2]);
      const { batch } = await on.take('crm', { window: 1 });
      const id = batch.deliveries[0]?.id ?? '';
      expect(await found(on, id)).toEqual(['crm 1']);
      expect(await found(on, id, { sink: 'drop' })).toEqual([]);
      expect(await found(on, id, { states: ['dead'] })).toEqual([]);
      expect(await found(on, id, { lead: 2n })).toEqual([]);
      expect(await found(on, `${id}:m1`)).toEqual([]);
      expect(await found(on, 'batch_no')).toEqual([]);
    });

    it('of a batch finds the deliveries that were sent together', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list(ids(1, 5));
      const sent: string[] = [];
      for (let n = 0; n < 2; n += 1) {
        const { ref, batch } = await on.take('crm', { window: 1, max: 3 });
        sent.push(batchWebhookId(batch.deliveries.map(({ id }) => id)));
        await on.settle(ref, ...batch.deliveries.map(() => refused));
        on.clock.jump(MINUTE);
      }
      await on.attemptAll('drop');
      expect(await found(on, sent[0] ?? '')).toEqual(['crm 3', 'crm 2', 'crm 1']);
      expect(await found(on, sent[1] ?? '', { sink: 'crm' })).toEqual(['crm 5', 'crm 4']);
      expect(await found(on, sent[1] ?? '', { sink: 'drop' })).toEqual([]);
      expect(await found(on, batchWebhookId(['other']))).toEqual([]);
      expect(await on.ledger.retry({ webhookId: sent[1] })).toBe(2);
    });
  });
}
