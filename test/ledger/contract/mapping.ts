import { describe, expect, it } from 'vitest';
import type { BatchRef } from '../../../src/leads/delivery.ts';
import {
  LEFT_OUT,
  type LeftOut,
  type Outcome,
  type Refused,
  type Unavailable,
} from '../../../src/leads/outcome.ts';
import {
  aSink,
  changedLead,
  delivered,
  HOUR,
  LedgerUnderTest,
  MINUTE,
  type OpenLedger,
  refused,
  unanswered,
  unavailable,
} from '../ledger-under-test.ts';

const leftOut: LeftOut = { kind: 'left-out', reason: `${LEFT_OUT} of crm` };
const both = ['created', 'updated'] as const;

/** There was no connection, so nothing was sent. */
const unconnected: Unavailable = { kind: 'unavailable', reason: 'It refuses connections.', unsent: true };

/** The mapping failed for the lead, so the destination never saw it. */
const failed: Refused = { kind: 'refused', reason: 'The expression of `x` failed.', unsent: true };

/** Declares a sink, and has its attempts fail until it is held. */
async function aHeldSink(store: OpenLedger): Promise<LedgerUnderTest> {
  const on = await LedgerUnderTest.with(store, 'crm');
  await on.list([1, 2, 3, 4, 5, 6, 7]);
  for (let failures = 0; failures < 5; failures += 1) {
    on.clock.jump(MINUTE);
    await on.attemptAll('crm', unavailable, { window: 1 });
  }
  on.clock.jump(HOUR);
  return on;
}

/** Returns the mappings that the next attempt of the only batch uses, that of the batch and that of each delivery, and the deliveries' ids. */
async function mappingsOf(on: LedgerUnderTest) {
  const { batch, ref } = await on.take('crm', { max: 10 });
  const own = batch.deliveries.map(({ formerMapping }) => formerMapping);
  const ids = batch.deliveries.map(({ id }) => id);
  return { batch: batch.mapping, own, ids, ref };
}

/** Registers the tests of what every ledger promises about mappings: which one an attempt uses, and what becomes of leads left out. */
export function mappingContract(store: () => OpenLedger): void {
  describe('a mapping', () => {
    it('an attempt uses the mapping that its sink had when the attempt began', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }));
      await on.list([1]);
      expect(await mappingsOf(on)).toMatchObject({ batch: 'A', own: [undefined] });
      await on.declare('crm');
      await on.list([1, 2]);
      expect(await mappingsOf(on)).toMatchObject({ batch: undefined, own: [undefined] });
    });

    it('a delivery says whether an earlier attempt may have delivered it', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const sayings: unknown[] = [];
      const attempt = async (outcome: Outcome) => {
        const { batch, ref } = await on.take('crm');
        sayings.push(batch.deliveries[0]?.mayHaveArrived ?? false);
        await on.settle(ref, outcome);
        on.clock.jump(HOUR);
      };
      await attempt(unavailable);
      await attempt(unanswered);
      await attempt(unavailable);
      await attempt(delivered);
      expect(sayings).toEqual([false, false, true, true]);
    });

    it('what is upcoming has the mapping that a repeat has to use', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }));
      await on.list([1]);
      const former = async () => (await on.ledger.upcoming('crm', 1n))[0]?.delivery.formerMapping;
      await on.attemptAll('crm', unconnected);
      expect(await former()).toBeUndefined();
      on.clock.jump(HOUR);
      await on.attemptAll('crm', unavailable);
      await on.declare(aSink('crm', { mapping: 'B' }));
      expect(await former()).toBe('A');
    });

    it('a delivery whose attempt was lost may have arrived', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.take('crm');
      on.clock.jump(HOUR);
      const { batch } = await on.take('crm');
      expect(batch.deliveries).toMatchObject([{ mayHaveArrived: true }]);
    });

    it('a batch that was claimed before the mapping changed uses the new one', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }));
      await on.list([1]);
      const [ref] = (await on.claim('crm')).refs;
      await on.declare(aSink('crm', { mapping: 'B' }));
      expect(ref && (await on.begin(ref)).batch).toMatchObject({ mapping: 'B' });
    });

    it.each([
      ['a mapping', 'A', 'A'],
      ['the lead as received', undefined, null],
    ])('a lead that may have arrived keeps %s, after a change and a restart', async (_, mapping, kept) => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping }));
      await on.list([1, 2]);
      const { ref } = await on.take('crm', { max: 10 });
      await on.settle(ref, unanswered, unanswered);
      await on.declare(aSink('crm', { mapping: 'B' }));
      await on.ledger.close();
      const again = on.again();
      again.clock.jump(HOUR);
      const first = await mappingsOf(again);
      expect(first).toMatchObject({ batch: 'B', own: [kept, kept] });
      // Also after further attempts, under further mappings.
      await again.settle(first.ref, unanswered, unanswered);
      await again.declare(aSink('crm', { mapping: 'C' }));
      again.clock.jump(HOUR);
      expect(await mappingsOf(again)).toMatchObject({ batch: 'C', own: [kept, kept] });
    });

    it.each([
      ['was answered with an error', unavailable],
      ['was not answered', unanswered],
    ])('a lead whose request %s keeps its id and its mapping', async (_, outcome) => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }));
      await on.list([1]);
      const first = await mappingsOf(on);
      await on.settle(first.ref, outcome);
      await on.declare(aSink('crm', { mapping: 'B' }));
      on.clock.jump(HOUR);
      expect(await mappingsOf(on)).toMatchObject({ batch: 'B', own: ['A'], ids: first.ids });
    });

    it('a lead for which no request was sent gets the new mapping, under the same id', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }));
      await on.list([1]);
      const first = await mappingsOf(on);
      await on.settle(first.ref, unconnected);
      await on.declare(aSink('crm', { mapping: 'B' }));
      on.clock.jump(HOUR);
      expect(await mappingsOf(on)).toMatchObject({ batch: 'B', own: [undefined], ids: first.ids });
    });

    it('a lead that was answered with an error gets the new mapping by a retry, under a new id', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }));
      await on.list([1, 2]);
      const first = await mappingsOf(on);
      await on.settle(first.ref, unavailable, unavailable);
      await on.declare(aSink('crm', { mapping: 'B' }));
      await on.ledger.retry({ sink: 'crm', lead: 1n });
      on.clock.jump(HOUR);
      const second = await mappingsOf(on);
      expect(second).toMatchObject({ own: [undefined, 'A'], ids: [`${first.ids[0]}:m1`, first.ids[1]] });
      // The new id keeps its mapping like any other.
      await on.settle(second.ref, unavailable, unavailable);
      await on.declare(aSink('crm', { mapping: 'C' }));
      on.clock.jump(HOUR);
      expect(await mappingsOf(on)).toMatchObject({ batch: 'C', own: ['B', 'A'], ids: second.ids });
    });

    it('a refused lead gets the new mapping by a retry, under a new id each time', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }));
      await on.list([1]);
      const { ref, ids } = await mappingsOf(on);
      await on.settle(ref, refused);
      const afterRetry = async (mapping: string) => {
        await on.declare(aSink('crm', { mapping }));
        await on.ledger.retry({ sink: 'crm' });
        const next = await mappingsOf(on);
        await on.settle(next.ref, refused);
        return [next.batch, ...next.own, ...next.ids];
      };
      expect(await afterRetry('A')).toEqual(['A', undefined, ids[0]]);
      expect(await afterRetry('B')).toEqual(['B', undefined, `${ids[0]}:m1`]);
      expect(await afterRetry('B')).toEqual(['B', undefined, `${ids[0]}:m1`]);
      expect(await afterRetry('A')).toEqual(['A', undefined, `${ids[0]}:m2`]);
    });

    it('leads that are owed again after a hold get the new mapping, under new ids', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }));
      await on.list([1, 2, 3, 4, 5]);
      for (let refusals = 0; refusals < 5; refusals += 1) {
        await on.attemptAll('crm', refused, { window: 1 });
        on.clock.jump(MINUTE);
      }
      expect((await on.ledger.status()).sinks).toMatchObject([{ pending: 5, dead: 0 }]);
      await on.declare(aSink('crm', { mapping: 'B' }));
      await on.ledger.resume('crm');
      const { refs } = await on.claim('crm');
      expect(refs).not.toHaveLength(0);
      for (const ref of refs) {
        const { batch } = await on.begin(ref);
        expect(batch).toMatchObject({
          mapping: 'B',
          deliveries: [{ id: expect.stringMatching(/:m1$/) }],
        });
        expect(batch.deliveries[0]?.formerMapping).toBeUndefined();
      }
    });

    it('a retried lead that may have arrived keeps its id and its mapping', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }));
      await on.list([1]);
      const first = await mappingsOf(on);
      await on.settle(first.ref, unanswered);
      await on.declare(aSink('crm', { mapping: 'B' }));
      await on.ledger.retry({ sink: 'crm' });
      expect(await mappingsOf(on)).toMatchObject({ own: ['A'], ids: first.ids });
    });

    it('a lead that was in a refused message, and was not tried alone, gets the new mapping under a new id', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }));
      await on.list([1, 2]);
      const first = await mappingsOf(on);
      await on.settle(first.ref, delivered, { kind: 'untried', apart: true });
      await on.declare(aSink('crm', { mapping: 'B' }));
      expect(await mappingsOf(on)).toMatchObject({ own: [undefined], ids: [`${first.ids[1]}:m1`] });
    });

    it('the pending deliveries that keep the mapping of an earlier attempt are counted', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }), 'other');
      await on.list([1, 2, 3, 4, 5]);
      const counts = async () => [await on.ledger.sentPending('crm'), await on.ledger.sentPending('other')];
      expect(await counts()).toEqual([0, 0]);
      const { refs } = await on.claim('crm');
      for (const [index, outcome] of [unavailable, unanswered, unconnected, delivered].entries())
        await on.settle((await on.begin(refs[index] as BatchRef)).ref, outcome);
      expect(await counts()).toEqual([2, 0]);
      await on.ledger.retry({ sink: 'crm' });
      expect(await counts()).toEqual([1, 0]);
    });

    it('a delivery is found by its new id, with all of its attempts', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }));
      await on.list([1]);
      const { ref, ids } = await mappingsOf(on);
      await on.settle(ref, refused);
      await on.declare(aSink('crm', { mapping: 'B' }));
      await on.ledger.retry({ sink: 'crm' });
      await on.attemptAll('crm');
      const found = async (delivery: string) => on.ledger.deliveries({ delivery }, { limit: 9 });
      const id = `${ids[0]}:m1`;
      expect(await found(id)).toMatchObject([
        { delivery: id, state: 'delivered', attempts: 1, replay: false },
      ]);
      expect(await found(ids[0] as string)).toEqual([]);
    });

    it('a lead of a lost attempt keeps the mapping of that attempt', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }));
      await on.list([1]);
      await on.take('crm');
      await on.declare(aSink('crm', { mapping: 'B' }));
      on.clock.jump(2 * MINUTE);
      expect(await mappingsOf(on)).toMatchObject({ batch: 'B', own: ['A'] });
    });

    it('a lead of an attempt that was cut off keeps the mapping of that attempt', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }));
      await on.list([1]);
      const { ref } = await on.take('crm');
      await on.ledger.release(ref, true);
      await on.declare(aSink('crm', { mapping: 'B' }));
      expect(await mappingsOf(on)).toMatchObject({ batch: 'B', own: ['A'] });
    });
  });

  describe('a mapping that fails', () => {
    it('makes its lead dead, without a request', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const { ref } = await on.take('crm');
      expect(await on.settle(ref, failed)).toMatchObject({
        verdicts: [{ state: 'dead', reason: failed.reason }],
      });
      // No erasure is owed to a destination that never got the lead.
      await on.ledger.erase({ leads: [{ source: 'main', leadId: 1n }], rejected: [] }, ['crm']);
      const rows = await on.ledger.deliveries({ sink: 'crm' }, { limit: 9 });
      expect(rows.filter(({ event }) => event === 'erased')).toEqual([]);
    });

    it('ends no hold, and does not count as a success of the destination', async () => {
      const on = await aHeldSink(store());
      const { ref } = await on.take('crm');
      const settled = await on.settle(ref, failed);
      expect(settled?.verdicts).toMatchObject([{ state: 'pending' }]);
      expect(settled?.after.heldSince).toEqual(settled?.before.heldSince);
      // The next probe waits, as after any failed probe.
      expect((await on.claim('crm')).refs).toEqual([]);
      on.clock.jump(HOUR);
      expect((await on.claim('crm')).refs).toHaveLength(1);
    });

    it('leaves its batch, which stays the same batch for the others, and is not bound to the mapping', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { mapping: 'A' }));
      await on.list([1, 2, 3]);
      const { ref, batch } = await on.take('crm', { max: 10 });
      await on.settle(ref, unanswered, failed, unanswered);
      await on.declare(aSink('crm', { mapping: 'B' }));
      await on.ledger.retry({ sink: 'crm', states: ['dead'] });
      on.clock.jump(HOUR);
      const { refs } = await on.claim('crm', { max: 10 });
      const begun = await Promise.all(refs.map((one) => on.begin(one)));
      const ofLeads = begun.map((one) => ({
        id: one.batch.id,
        leads: one.batch.deliveries.map(({ leadId, formerMapping }) => [leadId, formerMapping]),
      }));
      expect(ofLeads).toContainEqual({
        id: batch.id,
        leads: [
          [1n, 'A'],
          [3n, 'A'],
        ],
      });
      expect(ofLeads.filter(({ id }) => id !== batch.id)).toMatchObject([{ leads: [[2n, undefined]] }]);
    });

    it('holds its sink if it fails for five leads in a row, which are then owed again', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3, 4, 5]);
      await on.attemptAll('crm', failed);
      const [sink] = (await on.ledger.status()).sinks;
      expect(sink).toMatchObject({ pending: 5, dead: 0 });
      expect((await on.ledger.backlog())[0]?.health.heldReason).toBe(
        'The mapping fails for lead after lead, so the fault is not in the leads: The expression of `x` failed. Correct the expression; `leadsync test` tries it.',
      );
      on.clock.jump(HOUR);
      expect(await on.attemptAll('crm', delivered)).toHaveLength(1);
      on.clock.jump(MINUTE);
      await on.attemptAll('crm', delivered);
      await on.attemptAll('crm', delivered);
      expect(await on.owed('crm')).toEqual(expect.arrayContaining(['1 v1 delivered', '5 v1 delivered']));
    });
  });

  describe('a lead that its mapping leaves out', () => {
    it('is skipped with the reason, without an attempt', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const { ref } = await on.take('crm');
      const settled = await on.settle(ref, leftOut);
      expect(settled?.verdicts).toMatchObject([{ state: 'skipped', attempts: 0 }]);
      const [row] = await on.ledger.deliveries({ sink: 'crm' }, { limit: 9 });
      expect(row).toMatchObject({ state: 'skipped', reason: 'left out by `where` of crm', attempts: 0 });
      expect((await on.ledger.status()).sinks).toMatchObject([{ pending: 0, skipped: 1, delivered: 0 }]);
    });

    it('is counted until a lead is delivered', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const leftOutSoFar = async () => (await on.ledger.status()).sinks[0]?.leftOut;
      await on.list([1]);
      await on.settle((await on.take('crm')).ref, leftOut);
      expect(await leftOutSoFar()).toBe(1);
      on.clock.jump(MINUTE);
      await on.list([3]);
      await on.attemptAll('crm', delivered);
      expect(await leftOutSoFar()).toBe(0);
    });

    it('says nothing about the destination: a held sink stays held', async () => {
      const on = await aHeldSink(store());
      const { ref } = await on.take('crm');
      const settled = await on.settle(ref, leftOut);
      expect(settled?.before.heldSince).toBeDefined();
      expect(settled?.after).toEqual(settled?.before);
      // The next lead is the probe.
      expect((await on.claim('crm')).refs).toHaveLength(1);
    });

    it('leaves its batch, which stays the same batch for the others', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3]);
      const { ref, batch } = await on.take('crm', { max: 10 });
      await on.settle(ref, unanswered, leftOut, unanswered);
      on.clock.jump(HOUR);
      const again = await on.take('crm', { max: 10 });
      expect(again.batch.id).toBe(batch.id);
      expect(again.batch.deliveries.map(({ leadId }) => leadId)).toEqual([1n, 3n]);
    });

    it.each([
      ['created', ['created'] as const],
      ['created and updated', both],
    ])('is owed as a new lead once it changes, to a sink that subscribes to %s', async (_, events) => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events }));
      await on.list([1]);
      const { ref } = await on.take('crm');
      await on.settle(ref, leftOut);
      await on.list([changedLead(1, 'B')]);
      const { batch } = await on.take('crm');
      expect(batch.deliveries).toMatchObject([{ event: 'created', version: 2 }]);
    });

    it('is owed as a change once it changes again, if an older content was delivered', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: both }), 'other');
      await on.list([1]);
      await on.attemptAll('crm');
      await on.list([changedLead(1, 'B')]);
      await on.attemptAll('crm', leftOut);
      await on.list([changedLead(1, 'C')]);
      const { batch } = await on.take('crm');
      expect(batch.deliveries).toMatchObject([{ event: 'updated', version: 3 }]);
    });

    it('is not owed again to a sink without updates that got an older content', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.attemptAll('crm', leftOut);
      await on.list([changedLead(1, 'B')]);
      await on.attemptAll('crm', delivered);
      await on.list([changedLead(1, 'C')]);
      expect(await on.owed('crm')).toEqual(['1 v1 skipped', '1 v2 delivered']);
    });

    it('is owed once it changes, even if an older content was refused', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.attemptAll('crm', refused);
      await on.list([changedLead(1, 'B')]);
      await on.attemptAll('crm', leftOut);
      await on.list([changedLead(1, 'C')]);
      expect(await on.owed('crm')).toEqual(['1 v1 dead', '1 v2 skipped', '1 v3 pending']);
    });

    it('is owed if it changed during the attempt that left it out', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const { ref } = await on.take('crm');
      await on.list([changedLead(1, 'B')]);
      await on.settle(ref, leftOut);
      expect(await on.owed('crm')).toEqual(['1 v1 skipped', '1 v2 pending']);
    });

    it('is owed as a change if an older content may have arrived', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: both }));
      await on.list([1]);
      await on.attemptAll('crm', unanswered);
      await on.list([changedLead(1, 'B')]);
      on.clock.jump(HOUR);
      await on.attemptAll('crm', leftOut);
      await on.list([changedLead(1, 'C')]);
      on.clock.jump(HOUR);
      const { batch } = await on.take('crm');
      expect(batch.deliveries).toMatchObject([{ event: 'updated', version: 3 }]);
    });

    it('is owed by a backfill even to a sink without backfill, if it changed while the sink was removed', async () => {
      const sink = aSink('crm', { backfill: false });
      const on = await LedgerUnderTest.with(store(), sink);
      await on.list([9]); // the first listing counts as listed before the sink
      await on.list([9, 1]);
      await on.attemptAll('crm', leftOut);
      await on.declare();
      await on.list([9, changedLead(1, 'B')]);
      await on.declare(sink);
      expect(await on.ledger.backfill('crm')).toMatchObject({ owed: 1, skipped: 0 });
    });

    it('is owed as new by a backfill if it changed while its sink was removed', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.attemptAll('crm', leftOut);
      await on.declare();
      await on.list([changedLead(1, 'B')]);
      await on.declare('crm');
      expect(await on.ledger.backfill('crm')).toMatchObject({ owed: 1, done: true });
      expect((await on.take('crm')).batch.deliveries).toMatchObject([{ event: 'created', version: 2 }]);
    });

    it('stays left out while nothing changes, also over a restart', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.attemptAll('crm', leftOut);
      await on.ledger.close();
      const again = on.again();
      await again.declare('crm');
      await again.list([1]);
      expect(await again.owed('crm')).toEqual(['1 v1 skipped']);
    });

    it('is delivered by a replay whose mapping lets it through', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.attemptAll('crm', leftOut);
      const owed = await on.ledger.replay('crm', { lead: 1n });
      expect(owed).toBe(1);
      await on.attemptAll('crm', delivered);
      expect(await on.owed('crm')).toEqual(['1 v1 skipped', '1 v1 delivered']);
    });
  });
}
