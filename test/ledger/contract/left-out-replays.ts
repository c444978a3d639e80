import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LEFT_OUT, type LeftOut, type Outcome } from '../../../src/leads/outcome.ts';
import {
  aSink,
  changedLead,
  delivered,
  HOUR,
  ids,
  LedgerUnderTest,
  MINUTE,
  type OpenLedger,
  refused,
  unanswered,
  unavailable,
} from '../ledger-under-test.ts';

const leftOut: LeftOut = { kind: 'left-out', reason: `${LEFT_OUT} of crm` };
const both = ['created', 'updated'] as const;

/** Lists the leads 1 to n, and settles their first attempts with these outcomes, in one batch. */
async function settledWith(on: LedgerUnderTest, ...outcomes: Outcome[]): Promise<void> {
  await on.list(ids(1, outcomes.length));
  const { ref } = await on.take('crm', { max: outcomes.length });
  await on.settle(ref, ...outcomes);
  on.clock.jump(1);
}

/** Registers the tests of what every ledger promises about a replay of the leads that a mapping left out. */
export function leftOutReplaysContract(store: () => OpenLedger): void {
  describe('a replay of leads that were left out', () => {
    it('it owes those leads alone, as new leads that are not marked as replays', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'other');
      await settledWith(on, delivered, leftOut, refused, unavailable, leftOut);
      expect(await on.ledger.replay('crm', { leftOut: true })).toBe(2);
      expect(await on.ledger.replay('other', { leftOut: true })).toBe(0);
      const { batch } = await on.take('crm', { max: 9 });
      expect(batch.deliveries).toMatchObject([
        { leadId: 2n, event: 'created', replay: false, wasLeftOut: true },
        { leadId: 5n, event: 'created', replay: false, wasLeftOut: true },
      ]);
      expect(await on.ledger.upcoming('crm', 2n)).toMatchObject([{ delivery: { replay: false } }]);
      const rows = await on.ledger.deliveries({ sink: 'crm', lead: 2n }, { limit: 9 });
      expect(rows.map(({ state, replay }) => ({ state, replay }))).toEqual([
        { state: 'pending', replay: true },
        { state: 'skipped', replay: false },
      ]);
      expect((await on.ledger.status()).sinks).toMatchObject([
        { sink: 'crm', pending: 3, delivered: 1, dead: 1, skipped: 2 },
        { sink: 'other', pending: 5, skipped: 0 },
      ]);
    });

    it('it owes nothing while they wait or once they are delivered, and owes them again if they are left out again', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await settledWith(on, leftOut);
      const replayed = () => {
        on.clock.jump(1);
        return on.ledger.replay('crm', { leftOut: true });
      };
      expect(await replayed()).toBe(1);
      expect(await replayed()).toBe(0);
      await on.attemptAll('crm', leftOut);
      expect(await on.owed('crm')).toEqual(['1 v1 skipped', '1 v1 skipped']);
      expect(await replayed()).toBe(1);
      await on.attemptAll('crm', delivered);
      expect(await replayed()).toBe(0);
      expect(await on.owed('crm')).toEqual(['1 v1 skipped', '1 v1 skipped', '1 v1 delivered']);
    });

    it('it selects by id, by source and by time', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1], 'north');
      on.clock.jump(MINUTE);
      const then = on.clock.now();
      await on.list([2, 3], 'south');
      await on.attemptAll('crm', leftOut, { max: 9 });
      on.clock.jump(MINUTE);
      const replayed = (choice: object) => on.ledger.replay('crm', { ...choice, leftOut: true });
      expect(await replayed({ since: then, source: 'north' })).toBe(0);
      expect(await replayed({ until: then })).toBe(1);
      expect(await replayed({ lead: 3n })).toBe(1);
      expect(await replayed({ lead: 3n })).toBe(0);
      expect(await replayed({ since: then })).toBe(1);
      expect(await on.ledger.replay('nobody', { leftOut: true })).toBe(0);
    });

    it('it owes a change of a lead that the sink has, as a change, and only to a sink that subscribes to updates', async () => {
      for (const [events, owed] of [
        [both, 1],
        [['created'], 0],
      ] as const) {
        const on = await LedgerUnderTest.with(store(), aSink('crm', { events: both }));
        await settledWith(on, delivered);
        await on.list([changedLead(1, 'B')]);
        await on.attemptAll('crm', leftOut);
        await on.declare(aSink('crm', { events }));
        on.clock.jump(1);
        expect(await on.ledger.replay('crm', { leftOut: true })).toBe(owed);
        if (owed === 0) continue;
        const { batch } = await on.take('crm');
        expect(batch.deliveries).toMatchObject([{ event: 'updated', version: 2, replay: false }]);
      }
    });

    it('it does not send again what the sink has, even if a replay of it was left out', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: both }));
      await settledWith(on, delivered);
      await on.ledger.replay('crm', { lead: 1n });
      await on.attemptAll('crm', leftOut);
      on.clock.jump(1);
      expect(await on.ledger.replay('crm', { leftOut: true })).toBe(0);
    });

    it('it owes a lead that was left out after its attempt was cut off, since no attempt sent it', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }));
      await on.list([1]);
      const { ref } = await on.take('crm');
      await on.ledger.release(ref, true);
      await on.attemptAll('crm', leftOut);
      await on.declare(aSink('crm', { mapping: 'B' }));
      on.clock.jump(1);
      expect(await on.ledger.replay('crm', { leftOut: true })).toBe(1);
      const { batch } = await on.take('crm');
      expect(batch).toMatchObject({ mapping: 'B', deliveries: [{ event: 'created' }] });
      expect(batch.deliveries[0]).not.toHaveProperty('formerMapping');
    });

    it('it does not owe a lead of which an older content may have arrived at a sink without updates', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: both }));
      await settledWith(on, unanswered);
      await on.list([changedLead(1, 'B')]);
      on.clock.jump(HOUR);
      await on.attemptAll('crm', leftOut);
      await on.declare('crm');
      expect(await on.ledger.replay('crm', { leftOut: true })).toBe(0);
    });

    it('it does not owe an erased lead, nor one whose content was removed', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await settledWith(on, leftOut, leftOut);
      await on.ledger.erase({ leads: [{ source: 'main', leadId: 1n }], rejected: [] }, ['crm']);
      expect(await on.ledger.replay('crm', { leftOut: true })).toBe(1);
      await on.attemptAll('crm', leftOut);
      on.clock.jump(HOUR);
      await on.ledger.removeOld('leads', on.clock.now(), 0);
      expect(await on.ledger.replay('crm', { leftOut: true })).toBe(0);
    });

    it('its deliveries take a newer content like any other', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await settledWith(on, leftOut, leftOut);
      await on.ledger.replay('crm', { leftOut: true });
      await on.list([changedLead(1, 'B'), 2]);
      const { ref, batch } = await on.take('crm', { max: 9 });
      expect(batch.deliveries).toMatchObject([
        { leadId: 1n, version: 2, event: 'created', replay: false },
        { leadId: 2n, version: 1, event: 'created', replay: false },
      ]);
      await on.settle(ref, refused, refused);
      await on.list([changedLead(1, 'B'), changedLead(2, 'B')]);
      expect((await on.take('crm')).batch.deliveries).toMatchObject([
        { leadId: 2n, version: 2, event: 'created', replay: false },
      ]);
    });

    it('another process finishes it if its process was killed, and two at the same time owe each lead once', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 1_000));
      await on.attemptAll('crm', leftOut, { max: 1_000 });
      on.clock.jump(1);
      const killed = on.again();
      const asked = killed.ledger.replay('crm', { leftOut: true });
      asked.catch(() => undefined); // the test takes its ledger away
      const pending = async () => (await on.ledger.status()).sinks[0]?.pending ?? 0;
      while ((await pending()) === 0) await turn();
      await killed.ledger.close();
      expect(await pending()).toBeLessThan(1_000);
      on.clock.jump(MINUTE);
      const counts = await Promise.all([
        on.ledger.replay('crm', { leftOut: true }),
        on.again().ledger.finishReplays(),
      ]);
      expect(counts[0] + counts[1]).toBe(1_000);
      expect(await on.ledger.finishReplays()).toBe(0);
      expect(await pending()).toBe(1_000);
      expect(await on.owed('crm')).toHaveLength(2_000);
    });
  });
}
