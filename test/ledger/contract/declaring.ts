import { describe, expect, it } from 'vitest';
import {
  aSink,
  changedLead,
  delivered,
  ids,
  LedgerUnderTest,
  MINUTE,
  type OpenLedger,
  refused,
} from '../ledger-under-test.ts';

/** Registers the tests of what every ledger promises about sinks that are added, removed and renamed. */
export function declaringContract(store: () => OpenLedger): void {
  describe('a renamed sink', () => {
    it('it keeps its pending and past deliveries, and they keep their ids', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const { ref } = await on.take('crm', { window: 1 });
      await on.settle(ref, delivered);
      await on.declare({ ...aSink('customers'), formerly: 'crm' });
      expect(await on.owed('customers')).toEqual(['1 v1 delivered', '2 v1 pending']);
      const { batch } = await on.take('customers');
      expect(batch.deliveries[0]?.id).toMatch(/^crm:main:2:1:/);
      const [row] = await on.ledger.deliveries({ delivery: batch.deliveries[0]?.id }, { limit: 2 });
      expect(row).toMatchObject({ lead: '2', sink: 'customers' });
      expect((await on.ledger.status()).sinks.map(({ sink }) => sink)).toEqual(['customers']);
    });

    it('it is renamed once: the former name has no effect later', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const customers = { ...aSink('customers'), formerly: 'crm' };
      await on.declare(customers);
      await on.declare(customers, 'other');
      await on.declare(customers, 'other');
      expect((await on.ledger.status()).sinks.map(({ sink }) => sink)).toEqual(['customers', 'other']);
      expect(await on.owed('customers')).toEqual(['1 v1 pending']);
    });

    it('it cannot take the name of a sink that was removed, because it would continue as that one; nothing changes then', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.attemptAll('crm');
      await on.declare('hub');
      await on.attemptAll('hub');
      await on.list([1, 2]);
      await expect(on.declare({ ...aSink('crm'), formerly: 'hub' }, 'new')).rejects.toMatchObject({
        code: 'name-taken',
        hint: expect.stringContaining('Choose another new name'),
      });
      expect((await on.ledger.lastDeclaration()).sinks).toMatchObject([
        { name: 'crm', active: false },
        { name: 'hub', active: true, pending: 1 },
      ]);
      await on.declare({ ...aSink('crm2'), formerly: 'hub' });
      expect(await on.owed('crm2')).toEqual(['2 v1 pending']);
    });

    it('it cannot take the name of a sink that is declared until then, or of one that is removed like itself', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'hub');
      await on.list([1]);
      for (const before of [['crm', 'hub'], []]) {
        await on.declare(...before);
        const rename = on.declare({ ...aSink('hub'), formerly: 'crm' });
        await expect(rename).rejects.toMatchObject({ code: 'name-taken' });
      }
      await on.declare('hub');
      // The former name of a sink that goes on under its own name has no effect, as after a rename.
      await on.declare({ ...aSink('hub'), formerly: 'crm' });
      expect(await on.owed('hub')).toEqual(['1 v1 pending']);
    });

    it('its option may stay when a new sink has taken its former name and is removed again', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const hub = { ...aSink('hub'), formerly: 'crm' };
      await on.declare(hub);
      await on.declare(aSink('hub'), 'crm');
      await on.declare(hub);
      expect(await on.owed('hub')).toEqual(['1 v1 pending']);
    });

    it('a new sink with a former name of another sink in its ids counts as a separate sink', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.declare({ ...aSink('hub'), formerly: 'crm' });
      await on.declare('hub', 'crm', 'other');
      await on.declare('hub');
      const rename = on.declare('hub', { ...aSink('crm'), formerly: 'other' });
      await expect(rename).rejects.toMatchObject({ code: 'name-taken' });
    });

    it('a renamed sink that was removed returns under its new name, even if another sink now has its former name', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const customers = { ...aSink('customers'), formerly: 'crm' };
      await on.declare(customers);
      await on.declare('other');
      await on.declare(customers);
      expect(await on.owed('customers')).toEqual(['1 v1 pending']);
      expect(await on.owed('crm')).toEqual([]);
    });

    it('a new sink may take the former name, and its deliveries have their own ids', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const customers = { ...aSink('customers'), formerly: 'crm' };
      await on.declare(customers);
      await on.declare(aSink('customers'), 'crm');
      await on.list([1, 2]);
      const ids = (await on.ledger.deliveries({}, { limit: 10 })).map(({ delivery, sink }) => [
        sink,
        delivery.split(':')[0],
      ]);
      expect(new Set(ids.map(String))).toEqual(new Set(['customers,crm', 'crm,crm~2']));
      const [own] = await on.ledger.deliveries({ sink: 'crm' }, { limit: 1 });
      expect(await on.ledger.deliveries({ delivery: own?.delivery }, { limit: 5 })).toHaveLength(1);
    });
  });

  describe('a sink that is no longer declared', () => {
    it('only such a sink can be forgotten: its pending deliveries are skipped, except those being attempted', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list([1, 2, 3]);
      const { ref } = await on.take('crm', { window: 1 });
      expect(await on.ledger.forget('crm')).toBeUndefined();
      expect(await on.ledger.forget('nobody')).toBeUndefined();
      await on.declare('drop');
      expect(await on.ledger.forget('crm')).toBe(2);
      await on.settle(ref, refused);
      expect(await on.owed('crm')).toEqual(['1 v1 dead', '2 v1 skipped', '3 v1 skipped']);
      const [row] = await on.ledger.deliveries({ states: ['skipped'] }, { limit: 1 });
      expect(row?.reason).toContain('removed from the configuration');
      expect(await on.owed('drop')).toEqual(['1 v1 pending', '2 v1 pending', '3 v1 pending']);
    });

    it('what no attempt holds is skipped: also batches that were claimed and not begun, and batches whose lease has expired', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list([1, 2, 3]);
      const running = await on.take('crm', { window: 1 });
      const { refs } = await on.claim('crm', { window: 2 });
      expect(refs).toHaveLength(1);
      await on.declare('drop');
      expect(await on.ledger.forget('crm')).toBe(2);
      expect(await on.owed('crm')).toEqual(['1 v1 pending', '2 v1 skipped', '3 v1 skipped']);
      for (const ref of refs) expect(await on.ledger.begin(ref, MINUTE)).toBeUndefined();
      on.clock.jump(2 * MINUTE);
      expect(await on.ledger.forget('crm')).toBe(1);
      expect(await on.settle(running.ref, delivered)).toBeUndefined();
      expect((await on.ledger.lastDeclaration()).sinks).toMatchObject([{ pending: 0 }, {}]);
    });

    it('a batch is skipped as a whole, so that a late outcome of it never meets a part of it', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 1200));
      const { ref, batch } = await on.take('crm', { max: 1200, window: 1 });
      await on.declare();
      on.clock.jump(2 * MINUTE);
      const forgotten = on.ledger.forget('crm');
      while ((await on.ledger.deliveries({ states: ['skipped'] }, { limit: 1 })).length === 0);
      expect(await on.settle(ref, ...batch.deliveries.map(() => delivered))).toBeUndefined();
      expect(await forgotten).toBe(1200);
    });

    it('it is reported with the number of leads that it missed, according to the last declaration', async () => {
      const on = await LedgerUnderTest.with(store(), { ...aSink('crm'), config: '{"url":"a"}' });
      await on.ledger.declareSources([{ name: 'main', config: '{"base_url":"b"}' }]);
      await on.list([1, 2]);
      await on.declare();
      await on.list([1, changedLead(2, 'B'), 3]);
      expect(await on.ledger.lastDeclaration()).toEqual({
        sources: [{ name: 'main', config: '{"base_url":"b"}', leads: 3 }],
        sinks: [
          {
            name: 'crm',
            active: false,
            nameInIds: 'crm',
            config: '{"url":"a"}',
            pending: 2,
            dead: 0,
            missed: 2,
          },
        ],
      });
    });

    it('a source that is no longer declared is reported as well', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const main = { name: 'main', config: '{}' };
      await on.ledger.declareSources([main, { name: 'other', config: '{}' }]);
      await on.ledger.declareSources([main]);
      const gone = { name: 'other', config: undefined, leads: 0 };
      expect((await on.ledger.lastDeclaration()).sources).toEqual([{ ...main, leads: 0 }, gone]);
    });
  });
}
