import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/leads/outcome.ts';
import { LEFT_OUT } from '../../../src/leads/outcome.ts';
import { ERASED } from '../../../src/ledger/rules/delivering/delivery-id.ts';
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

const NOTE = { by: 'anna', note: 'the numbers are wrong' };
const leftOut: Outcome = { kind: 'left-out', reason: `${LEFT_OUT} of crm` };

/** Registers the tests of what every ledger promises about actions that an operator can check, cancel and undo. */
export function recallingContract(store: () => OpenLedger): void {
  describe('cancelling the replays of a sink', () => {
    it('it skips the deliveries of replays, and leaves all other deliveries of the sink', async () => {
      const on = await replayed(store(), 3);
      await on.list(ids(1, 5));
      expect(await on.ledger.cancellable('crm')).toEqual({ cancelled: 3, attempted: 0, needed: 0 });
      expect((await statusOf(on)).replays).toBe(3);
      expect(await on.ledger.cancelReplays('crm')).toEqual({ cancelled: 3, attempted: 0, needed: 0 });
      expect(await statusOf(on)).toMatchObject({ pending: 2, skipped: 3, delivered: 3, replays: 0 });
      expect(await on.attemptAll('crm')).toEqual([[4n], [5n]]);
      expect(await on.ledger.cancelReplays('crm')).toEqual({ cancelled: 0, attempted: 0, needed: 0 });
      expect(await on.ledger.cancelReplays('nobody')).toBeUndefined();
      expect(await on.ledger.cancellable('nobody')).toBeUndefined();
    });

    it('it leaves the replays of other sinks', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list([1]);
      for (const sink of ['crm', 'drop']) await on.attemptAll(sink);
      on.clock.jump(1);
      for (const sink of ['crm', 'drop']) await on.ledger.replay(sink, {});
      await on.ledger.cancelReplays('crm');
      expect(await on.attemptAll('crm')).toEqual([]);
      expect(await on.attemptAll('drop')).toEqual([[1n]]);
    });

    it('what is being attempted stays and is settled as usual; what is only claimed is taken from its batch', async () => {
      const on = await replayed(store(), 4);
      const { ref } = await on.take('crm', { window: 1, max: 2 });
      const [claimed] = (await on.claim('crm', { window: 2, max: 2 })).refs;
      await on.list(ids(1, 5));
      expect(await on.ledger.cancelReplays('crm')).toEqual({ cancelled: 2, attempted: 2, needed: 0 });
      expect(await on.settle(ref, delivered, delivered)).toBeDefined();
      expect(claimed && (await on.ledger.begin(claimed, MINUTE))).toBeUndefined();
      expect(await on.attemptAll('crm')).toEqual([[5n]]);
      expect((await on.owed('crm')).filter((row) => row.endsWith('skipped'))).toHaveLength(2);
      expect(await statusOf(on)).toMatchObject({ pending: 0, delivered: 4 + 2 + 1, skipped: 2 });
    });

    it('a batch that is claimed with a replay and a new lead is attempted with the new lead alone', async () => {
      const on = await replayed(store(), 1);
      await on.list(ids(1, 2));
      const [claimed] = (await on.claim('crm', { max: 2 })).refs;
      expect(await on.ledger.cancelReplays('crm')).toMatchObject({ cancelled: 1 });
      const begun = claimed && (await on.begin(claimed));
      expect(begun?.batch.deliveries.map(({ leadId }) => leadId)).toEqual([2n]);
      expect(begun && (await on.settle(begun.ref, delivered))).toBeDefined();
    });

    it('an attempt that was cancelled beside never ends a lead twice: it can fail, and wait, and be cancelled then', async () => {
      const on = await replayed(store(), 1);
      const { ref } = await on.take('crm');
      expect(await on.ledger.cancelReplays('crm')).toMatchObject({ cancelled: 0, attempted: 1 });
      await on.settle(ref, unavailable);
      expect(await on.ledger.cancelReplays('crm')).toMatchObject({ cancelled: 1, attempted: 0 });
      on.clock.jump(HOUR);
      expect(await on.attemptAll('crm')).toEqual([]);
    });

    it('a batch without an answer stays whole: its replays may have arrived with the others', async () => {
      const on = await replayed(store(), 2);
      const { ref } = await on.take('crm', { max: 2 });
      await on.settle(ref, unanswered, unanswered);
      expect(await on.ledger.cancelReplays('crm')).toEqual({ cancelled: 0, attempted: 2, needed: 0 });
    });

    it('a replay that replaced a delivery that was waiting for its retry stays, because the lead would be lost', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      await on.attemptAll('crm', unavailable);
      on.clock.jump(1);
      await on.list([1, 2, 3]);
      await on.ledger.replay('crm', {});
      on.clock.jump(1);
      await on.ledger.replay('crm', {});
      const { cancelled, needed } = (await on.ledger.cancelReplays('crm')) ?? {};
      expect({ cancelled, needed }).toEqual({ cancelled: 2, needed: 4 });
      on.clock.jump(HOUR);
      const arrived = await attemptUntilDone(on, 'crm');
      expect(new Set(arrived)).toEqual(new Set([1n, 2n, 3n]));
    });

    it.each([
      [['created', 'updated'], 1, 0],
      [['created'], 0, 1],
    ] as const)(
      'a replay that carries a change stays for a sink of %j',
      async (events, needed, cancelled) => {
        const on = await LedgerUnderTest.with(store(), aSink('crm', { events }));
        await on.list([1]);
        await on.attemptAll('crm');
        on.clock.jump(1);
        await on.ledger.replay('crm', { lead: 1n });
        await on.list([changedLead(1, 'B')]);
        expect(await on.ledger.cancelReplays('crm')).toEqual({ cancelled, needed, attempted: 0 });
        expect(await attemptUntilDone(on, 'crm')).toHaveLength(needed);
      },
    );

    it('a lead that was given up or left out before the replay counts so again: its next content is owed', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const { refs } = await on.claim('crm');
      for (const [at, ref] of refs.entries()) {
        await on.begin(ref);
        await on.settle(ref, at === 0 ? refused : leftOut);
      }
      on.clock.jump(1);
      expect(await on.ledger.replay('crm', {})).toBe(2);
      expect(await on.ledger.cancelReplays('crm')).toMatchObject({ cancelled: 2 });
      expect(await on.ledger.replayable('crm', { leftOut: true })).toMatchObject({ leads: 1 });
      expect(await on.ledger.retriable({ states: ['dead'] })).toMatchObject({ deliveries: 1 });
      await on.list([changedLead(1, 'B'), changedLead(2, 'B')]);
      expect((await attemptUntilDone(on, 'crm')).sort()).toEqual([1n, 2n]);
    });

    it('a replay that only replaced another replay can be cancelled, although that one had failed', async () => {
      const on = await replayed(store(), 2);
      await on.attemptAll('crm', unavailable);
      on.clock.jump(1);
      expect(await on.ledger.replay('crm', {})).toBe(2);
      expect(await on.ledger.cancelReplays('crm')).toEqual({ cancelled: 2, attempted: 0, needed: 0 });
      on.clock.jump(HOUR);
      expect(await attemptUntilDone(on, 'crm')).toEqual([]);
    });

    it('a failed replay whose lead changed can be cancelled for a sink that has the lead and gets no updates', async () => {
      const on = await replayed(store(), 1);
      await on.attemptAll('crm', unavailable);
      on.clock.jump(1);
      await on.list([changedLead(1, 'B')]);
      expect(await on.owed('crm')).toEqual(['1 v1 delivered', '1 v1 skipped', '1 v2 pending']);
      expect(await on.ledger.cancelReplays('crm')).toEqual({ cancelled: 1, attempted: 0, needed: 0 });
    });

    it('a replay stays that replaced a replay that carried a change', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      await on.list([1]);
      await on.attemptAll('crm');
      on.clock.jump(1);
      await on.ledger.replay('crm', {});
      await on.list([changedLead(1, 'B')]);
      await on.attemptAll('crm', unavailable);
      on.clock.jump(1);
      expect(await on.ledger.replay('crm', {})).toBe(1);
      expect(await on.ledger.cancelReplays('crm')).toEqual({ cancelled: 0, attempted: 0, needed: 1 });
      on.clock.jump(HOUR);
      expect(await attemptUntilDone(on, 'crm')).toEqual([1n]);
    });

    it('a cancelled replay of what was left out can be requested again', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.attemptAll('crm', leftOut);
      on.clock.jump(1);
      expect(await on.ledger.replay('crm', { leftOut: true })).toBe(1);
      expect(await on.ledger.cancelReplays('crm')).toMatchObject({ cancelled: 1 });
      on.clock.jump(1);
      expect(await on.ledger.replay('crm', { leftOut: true })).toBe(1);
      expect(await on.attemptAll('crm')).toEqual([[1n]]);
    });

    it('it ends a replay that another process is still owing', async () => {
      const open = store();
      const on = await LedgerUnderTest.with(open, 'crm');
      await on.list(ids(1, 2_000));
      on.clock.jump(1);
      const other = on.again();
      const replaying = other.ledger.replay('crm', {});
      while ((await statusOf(on)).replays === 0) await turn();
      const { cancelled = 0 } = (await on.ledger.cancelReplays('crm')) ?? {};
      expect(await replaying).toBe(cancelled);
      expect(cancelled).toBeLessThan(2_000);
      on.clock.jump(MINUTE);
      expect(await on.ledger.finishReplays()).toBe(0);
      expect(await statusOf(on)).toMatchObject({ pending: 2_000, replays: 0 });
    });

    it('another process completes a cancellation whose process was killed', async () => {
      const on = await replayed(store(), 1_000);
      const killed = on.again();
      const asked = killed.ledger.cancelReplays('crm');
      asked.catch(() => undefined); // the test takes its ledger away
      while ((await statusOf(on)).replays === 1_000) await turn();
      await killed.ledger.close();
      const left = (await statusOf(on)).replays;
      expect(left).toBeGreaterThan(0);
      expect(await on.ledger.cancelReplays('crm')).toMatchObject({ cancelled: left });
      expect(await statusOf(on)).toMatchObject({ pending: 0, skipped: 1_000, delivered: 1_000 });
    });
  });

  describe('discarding dead deliveries', () => {
    it('they are skipped with the note, who wrote it and why they were dead, and count as dead no more', async () => {
      const on = await dead(store(), 2);
      expect(await on.ledger.discardable({})).toEqual({
        deliveries: 2,
        groups: [{ sink: 'crm', source: 'main', state: 'dead', reason: 'It says no.', deliveries: 2 }],
        unmatched: [],
      });
      expect(await on.ledger.discard({ lead: 1n }, NOTE)).toBe(1);
      const [row] = await on.ledger.deliveries({ lead: 1n }, { limit: 1 });
      const reason = 'discarded by anna: the numbers are wrong. Dead before: It says no.';
      expect(row).toMatchObject({ state: 'skipped', discarded: true, reason, settledAt: on.clock.now() });
      expect(await on.ledger.trace(1n)).toContainEqual(
        expect.objectContaining({ what: 'skipped', detail: reason }),
      );
      expect(await statusOf(on)).toMatchObject({ dead: 1, skipped: 1 });
      expect(
        (await on.ledger.deliveries({ states: ['discarded'] }, { limit: 9 })).map(({ lead }) => lead),
      ).toEqual(['1']);
    });

    it('discarding again changes nothing, not even the note', async () => {
      const on = await dead(store(), 1);
      expect(await on.ledger.discard({}, NOTE)).toBe(1);
      expect(await on.ledger.discard({}, { by: 'ben', note: 'again' })).toBe(0);
      const [row] = await on.ledger.deliveries({ lead: 1n }, { limit: 1 });
      expect(row?.reason).toContain('anna');
      expect(await statusOf(on)).toMatchObject({ dead: 0, skipped: 1 });
    });

    it('it affects no delivery that is pending, being attempted or delivered', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.attemptAll('crm');
      await on.list([1, 2, 3]);
      await on.take('crm', { window: 1 });
      expect(await on.ledger.discard({}, NOTE)).toBe(0);
      expect(await on.owed('crm')).toEqual(['1 v1 delivered', '2 v1 pending', '3 v1 pending']);
    });

    it('retry makes one pending again only by its id or by the state discarded, and keeps its delivery id', async () => {
      const on = await dead(store(), 3);
      const before = await on.ledger.deliveries({ states: ['dead'] }, { limit: 9 });
      await on.ledger.discard({}, NOTE);
      expect(await on.ledger.retry({})).toBe(0);
      expect(await on.ledger.retry({ states: ['dead', 'pending'] })).toBe(0);
      expect(await on.ledger.retry({ delivery: before[0]?.delivery })).toBe(1);
      expect(await on.ledger.retriable({ states: ['discarded'] })).toMatchObject({ deliveries: 2 });
      expect(await on.ledger.retry({ states: ['discarded'] })).toBe(2);
      expect(await statusOf(on)).toMatchObject({ dead: 0, skipped: 0, pending: 3 });
      expect(await on.attemptAll('crm')).toHaveLength(3);
      const after = (await on.ledger.deliveries({}, { limit: 9 })).filter(
        ({ lead }) => Number(lead) < 10_000,
      );
      expect(after.map(({ delivery, state, discarded }) => ({ delivery, state, discarded }))).toEqual(
        before.map(({ delivery }) => ({ delivery, state: 'delivered', discarded: false })),
      );
    });

    it('a delivery that retry has made due in the meantime is not discarded, and a discarded one is not retried', async () => {
      const on = await dead(store(), 1_200);
      const other = on.again();
      const retrying = on.ledger.retry({ states: ['dead'] });
      const discarding = other.ledger.discard({}, NOTE);
      const [retried, discarded] = [await retrying, await discarding];
      expect(retried + discarded).toBe(1_200);
      expect(await statusOf(on)).toMatchObject({ dead: 0, pending: retried, skipped: discarded });
    });

    it('a crash in between leaves each either dead or discarded, and a repetition discards the rest', async () => {
      const interrupted = async () => {
        const on = await dead(store(), 1_200);
        const killed = on.again();
        const asked = killed.ledger.discard({}, NOTE);
        asked.catch(() => undefined); // the test takes its ledger away
        while ((await statusOf(on)).dead === 1_200) await turn();
        await killed.ledger.close();
        const { dead: left, skipped } = await statusOf(on);
        expect(left + skipped).toBe(1_200);
        return { on, left };
      };
      let { on, left } = await interrupted();
      // On a busy machine, everything may be discarded before this test sees that it has begun.
      while (left === 0) ({ on, left } = await interrupted());
      expect(await on.ledger.discard({}, NOTE)).toBe(left);
      expect(await statusOf(on)).toMatchObject({ dead: 0, skipped: 1_200 });
    });

    it('the next content of a discarded lead is owed, as that of a dead one, and then only this can be retried', async () => {
      const on = await dead(store(), 1);
      await on.ledger.discard({}, NOTE);
      await on.list([10_001, changedLead(1, 'B')]);
      expect(await on.attemptAll('crm', refused)).toEqual([[1n]]);
      expect(await on.ledger.retry({ states: ['discarded'] })).toBe(0);
      await on.ledger.discard({}, NOTE);
      expect(await on.ledger.retry({ states: ['discarded'] })).toBe(1);
      expect((await on.owed('crm')).slice(1)).toEqual(['1 v1 skipped', '1 v2 pending']);
    });

    it('an erasure removes the note and the reason before it, and the delivery cannot be retried', async () => {
      const on = await dead(store(), 1);
      await on.ledger.discard({}, { by: 'anna', note: 'Ms Example has another number' });
      const before = await statusOf(on);
      const counts = await on.ledger.erase({ leads: [{ source: 'main', leadId: 1n }], rejected: [] }, []);
      expect(counts).toMatchObject({ skipped: 0 });
      const [row] = await on.ledger.deliveries({ lead: 1n }, { limit: 1 });
      expect(row).toMatchObject({ state: 'skipped', discarded: false, reason: ERASED });
      expect(await on.ledger.retry({ delivery: row?.delivery })).toBe(0);
      expect(await statusOf(on)).toMatchObject({ dead: before.dead, skipped: before.skipped });
    });

    it('a note is stored without characters that a terminal, a page or another database interprets', async () => {
      const on = await dead(store(), 1);
      await on.ledger.discard({}, { by: 'an\u0000na', note: 'wrong\u0000 \u001b[31mnumber\nat all' });
      const [row] = await on.ledger.deliveries({ lead: 1n }, { limit: 1 });
      expect(row?.reason).toBe(
        'discarded by an na: wrong  [31mnumber at all. Dead before: It says no.'.replace('  [', '   ['),
      );
    });

    it('retention removes the content of a discarded lead, which then cannot be retried', async () => {
      const on = await dead(store(), 2);
      await on.ledger.discard({ lead: 1n }, NOTE);
      on.clock.jump(HOUR);
      expect(await on.ledger.removeOld('leads', on.clock.now(), 0)).toMatchObject({ removed: 2 }); // and of the delivered one
      expect(await on.ledger.retry({ states: ['discarded'] })).toBe(0);
      expect(await on.ledger.retry({ states: ['dead'] })).toBe(1);
    });
  });

  describe('selecting for an action', () => {
    it('retry, discard and their counts select by reason, in any case, and by the status of the last attempt', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3]);
      const outcomes = [
        refused,
        { kind: 'refused', reason: 'No phone.', httpStatus: 400 },
        delivered,
      ] as const;
      for (const [at, ref] of (await on.claim('crm')).refs.entries()) {
        await on.begin(ref);
        await on.settle(ref, outcomes[at] as Outcome);
      }
      for (const [reason, lead] of [
        ['SAYS', '1'],
        ['422', '1'],
        ['phone', '2'],
        ['400', '2'],
      ] as const) {
        expect((await on.ledger.deliveries({ reason }, { limit: 9 })).map((row) => row.lead)).toEqual([lead]);
        expect(await on.ledger.retriable({ reason })).toMatchObject({ deliveries: 1 });
        expect(await on.ledger.discardable({ reason })).toMatchObject({ deliveries: 1 });
      }
      expect(await on.ledger.discard({ reason: '503' }, NOTE)).toBe(0);
      expect(await on.ledger.discard({ reason: '422' }, NOTE)).toBe(1);
      expect(await on.ledger.retry({ reason: 'phone' })).toBe(1);
    });

    it('ids of leads and of deliveries select, and those that select nothing are named', async () => {
      const on = await dead(store(), 3);
      await on.list(ids(1, 3), 'south');
      const [row] = await on.ledger.deliveries({ lead: 3n, source: 'main' }, { limit: 1 });
      const named = { leads: [1n, 99n], deliveries: [row?.delivery ?? '', 'nonsense'] };
      expect(await on.ledger.retriable({ ids: named, states: ['dead'] })).toMatchObject({
        deliveries: 2,
        unmatched: ['99', 'nonsense'],
      });
      expect((await on.ledger.retriable({ ids: named })).groups.map(({ source }) => source).sort()).toEqual([
        'main',
        'south',
      ]);
      expect(await on.ledger.discard({ ids: named, sink: 'drop' }, NOTE)).toBe(0);
      expect(await on.ledger.discard({ ids: named }, NOTE)).toBe(2);
      expect(await on.ledger.retry({ ids: { leads: [], deliveries: [row?.delivery ?? ''] } })).toBe(1);
    });

    it('ids select only among what the other conditions select', async () => {
      const on = await dead(store(), 2);
      const [row] = await on.ledger.deliveries({ lead: 2n }, { limit: 1 });
      const delivery = row?.delivery ?? '';
      for (const ids of [
        { leads: [2n], deliveries: [] },
        { leads: [], deliveries: [delivery] },
      ]) {
        expect(await on.ledger.discardable({ lead: 1n, ids })).toMatchObject({ deliveries: 0 });
        expect(await on.ledger.replayable('crm', { lead: 1n, ids })).toMatchObject({ leads: 0 });
        expect(await on.ledger.replay('crm', { lead: 1n, ids })).toBe(0);
        expect(await on.ledger.replayable('crm', { lead: 2n, ids })).toMatchObject({ leads: 1 });
        expect(await on.ledger.discardable({ lead: 2n, ids })).toMatchObject({ deliveries: 1 });
        expect(await on.ledger.discardable({ delivery, ids })).toMatchObject({ deliveries: 1 });
      }
      expect(await on.ledger.discard({ lead: 1n, ids: { leads: [2n], deliveries: [] } }, NOTE)).toBe(0);
    });

    it('a list of more ids than one part is used to its end', async () => {
      const on = await dead(store(), 1_200);
      const leads = ids(1, 1_200).map(BigInt);
      expect(await on.ledger.discardable({ ids: { leads, deliveries: [] } })).toMatchObject({
        deliveries: 1_200,
      });
      expect(await on.ledger.discard({ ids: { leads, deliveries: [] } }, NOTE)).toBe(1_200);
    });

    it('a replay selects by when the sink got a lead, by the state and the reason of its deliveries, and by ids', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list([1, 2, 3]);
      await on.take('crm', { window: 1 }).then(({ ref }) => on.settle(ref, delivered));
      on.clock.jump(HOUR);
      const deliveredSince = on.clock.now();
      await on.take('crm', { window: 1 }).then(({ ref }) => on.settle(ref, delivered));
      on.clock.jump(1);
      const deliveredUntil = on.clock.now();
      await on.take('crm', { window: 1 }).then(({ ref }) => on.settle(ref, refused));
      const [row] = await on.ledger.deliveries({ lead: 2n, sink: 'crm' }, { limit: 1 });
      const [ofDrop] = await on.ledger.deliveries({ lead: 2n, sink: 'drop' }, { limit: 1 });
      const leads: [bigint[], Parameters<typeof on.ledger.replayable>[1]][] = [
        [[2n], { deliveredSince, deliveredUntil }],
        [[1n, 2n], { deliveredUntil }],
        [[3n], { states: ['dead'] }],
        [[3n], { reason: '422' }],
        [[1n, 3n], { ids: { leads: [3n, 1n], deliveries: [] } }],
        [[2n], { ids: { leads: [], deliveries: [row?.delivery ?? ''] } }],
        [[], { ids: { leads: [], deliveries: [ofDrop?.delivery ?? ''] } }],
        [[1n], { ids: { leads: [1n, 3n], deliveries: [] }, states: ['delivered'] }],
        [[], { lead: 1n, deliveredSince }],
      ];
      for (const [expected, choice] of leads) {
        on.clock.jump(1);
        expect(await on.ledger.replayable('crm', choice)).toMatchObject({ leads: expected.length });
        const before = await on.ledger.status();
        expect(await on.ledger.replay('crm', choice)).toBe(expected.length);
        const replays = (await on.ledger.deliveries({ sink: 'crm' }, { limit: 99 }))
          .filter(({ replay, state }) => replay && state === 'pending')
          .map(({ lead }) => BigInt(lead));
        expect(replays.sort()).toEqual(expected);
        await on.ledger.cancelReplays('crm');
        expect((await statusOf(on)).pending).toBe(before.sinks[0]?.pending);
      }
      expect(
        await on.ledger.replayable('crm', { ids: { leads: [9n], deliveries: [ofDrop?.delivery ?? ''] } }),
      ).toEqual({
        leads: 0,
        sources: [],
        sample: [],
        unmatched: ['9', ofDrop?.delivery],
      });
    });

    it('the count of a replay of many leads is what it owes, and names their sources', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 700), 'north');
      await on.list(ids(1, 10), 'south');
      expect(await on.ledger.replayable('crm', {})).toEqual({
        leads: 710,
        sources: ['north', 'south'],
        sample: ids(1, 10).map((id) => ({ source: 'north', leadId: BigInt(id) })),
        unmatched: [],
      });
      expect(await on.ledger.replayable('crm', { lead: 5n })).toMatchObject({ leads: 2 });
      on.clock.jump(1);
      const leads = ids(1, 700).map(BigInt);
      expect(await on.ledger.replay('crm', { ids: { leads, deliveries: [] }, source: 'north' })).toBe(700);
    });

    it('the count of what is forgotten leaves out what is being attempted', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3]);
      await on.take('crm', { window: 1 });
      expect(await on.ledger.forgettable('crm')).toBeUndefined();
      await on.declare('drop');
      expect(await on.ledger.forgettable('crm')).toBe(2);
      expect(await on.ledger.forget('crm')).toBe(2);
    });
  });
}

/** Returns a ledger whose sink got leads 1 to n and is owed a replay of each. */
async function replayed(open: OpenLedger, n: number): Promise<LedgerUnderTest> {
  const on = await LedgerUnderTest.with(open, 'crm');
  await on.list(ids(1, n));
  await on.attemptAll('crm', delivered, { max: 500 });
  on.clock.jump(1);
  await on.ledger.replay('crm', {});
  return on;
}

/** Returns a ledger in which the deliveries of leads 1 to n are dead. Others are delivered in between, so that the sink is not held. */
async function dead(open: OpenLedger, n: number): Promise<LedgerUnderTest> {
  const on = await LedgerUnderTest.with(open, 'crm');
  const isOther = (id: number) => id > 10_000;
  await on.list(ids(1, n).flatMap((id) => (id % 50 === 1 ? [10_000 + id, id] : [id])));
  for (let left = n; left > 0; left -= 50) {
    const { ref, batch } = await on.take('crm', { window: 1, max: 51 });
    await on.settle(
      ref,
      ...batch.deliveries.map(({ leadId }) => (isOther(Number(leadId)) ? delivered : refused)),
    );
  }
  expect((await statusOf(on)).dead).toBe(n);
  return on;
}

async function statusOf(on: LedgerUnderTest, name = 'crm') {
  const status = (await on.ledger.status()).sinks.find(({ sink }) => sink === name);
  if (!status) throw new Error(`there is no sink ${name}`);
  return status;
}

/** Attempts everything until nothing is due. Returns the leads, in order. */
async function attemptUntilDone(on: LedgerUnderTest, sink: string): Promise<bigint[]> {
  const arrived: bigint[] = [];
  for (;;) {
    const leads = (await on.attemptAll(sink)).flat();
    if (leads.length === 0) return arrived;
    arrived.push(...leads);
  }
}
