import { describe, expect, it } from 'vitest';
import { MIN_CONCURRENT_BATCHES } from '../../../src/leads/breaker-policy.ts';
import type { BatchRef, Delivery } from '../../../src/leads/delivery.ts';
import type { BegunAttempt } from '../../../src/ledger/contract/ledger-delivering.ts';
import {
  aSink,
  changedLead,
  delivered,
  HOLDER,
  HOUR,
  ids,
  LedgerUnderTest,
  MINUTE,
  type OpenLedger,
  refused,
  unanswered,
  unavailable,
} from '../ledger-under-test.ts';

const mayHaveArrived = (delivery: Delivery): Delivery => ({ ...delivery, mayHaveArrived: true });

/** How long the lease of a begun attempt still lasts, in ms. */
const remainingMs = (begun: BegunAttempt | undefined) =>
  begun === undefined ? 0 : begun.leasedForMs - begun.sinceLease.elapsedMs();

/** Registers the tests of what every ledger promises about batches: order, window, lease and fencing token. */
export function claimingContract(store: () => OpenLedger): void {
  describe('claiming for attempts in this process', () => {
    const atOnce = { beginForMs: MINUTE };

    it('attempts that were not made when the ledger is closed can begin immediately, under the same leases', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const other = on.again();
      const [made, unused] = (await on.claim('crm', atOnce)).refs as [BatchRef, BatchRef];
      await on.begin(made);
      expect(await other.ledger.begin(unused, MINUTE)).toBeUndefined();
      await on.ledger.close();
      expect(await other.ledger.begin(made, MINUTE)).toBeUndefined();
      const { batch } = await other.begin(unused);
      expect(batch.deliveries).toMatchObject([{ leadId: 2n }]);
      expect(batch.deliveries[0]?.mayHaveArrived).not.toBe(true);
      expect((await other.settle(unused, delivered))?.verdicts).toHaveLength(1);
    });

    it('claiming begins the attempts in the same commit, so that no other process can, and each once', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const { refs } = await on.claim('crm', atOnce);
      const [first, second] = refs as [BatchRef, BatchRef];
      expect(await on.ledger.holders()).toEqual([HOLDER]);
      expect(await on.ledger.unbegunBatches('crm')).toEqual([]);
      expect(await on.again().ledger.begin(first, MINUTE)).toBeUndefined();
      const { batch } = await on.begin(first);
      expect(batch).toMatchObject({ id: first.batch, sink: 'crm', deliveries: [{ leadId: 1n }] });
      expect(await on.ledger.begin(first, MINUTE)).toBeUndefined();
      expect((await on.settle(first, delivered))?.verdicts).toHaveLength(1);
      expect((await on.begin(second)).batch.deliveries[0]?.leadId).toBe(2n);
    });

    it('a claim returns no more batches than it asks for, and none if it asks for none', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3]);
      expect((await on.claim('crm', { ...atOnce, most: 0 })).refs).toEqual([]);
      expect((await on.claim('crm', { ...atOnce, most: 2 })).refs).toHaveLength(2);
      expect((await on.claim('crm', { ...atOnce, most: 2 })).refs).toHaveLength(1);
    });

    it('an attempt that asks for its batch after the lease has ended gets nothing', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const [late] = (await on.claim('crm', atOnce)).refs as [BatchRef];
      on.clock.jump(MINUTE + 1);
      expect(await on.ledger.begin(late, MINUTE)).toBeUndefined();
      const [current] = (await on.claim('crm', atOnce)).refs as [BatchRef];
      expect(current).toMatchObject({ batch: late.batch, replaces: late.lease });
      expect(await on.ledger.begin(late, MINUTE)).toBeUndefined();
      expect(await on.settle(late, delivered)).toBeUndefined();
      await on.begin(current);
      expect(await on.settle(current, delivered)).toBeDefined();
    });

    it('it gets nothing even if the clock, and with it the lease, was set back in between', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const [late] = (await on.claim('crm', atOnce)).refs as [BatchRef];
      on.clock.setBack(HOUR);
      await on.ledger.clockWentBack(HOUR);
      on.clock.jump(MINUTE + 1);
      expect(await on.ledger.begin(late, MINUTE)).toBeUndefined();
    });

    it('beginning an attempt returns the time left in its lease, whenever it begins', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const [ref] = (await on.claim('crm', { window: 1, leaseMs: HOUR })).refs as [BatchRef];
      on.clock.jump(10_000);
      expect(Math.ceil(remainingMs(await on.ledger.begin(ref, MINUTE)))).toBe(MINUTE);
      const [atClaim] = (await on.claim('crm', { ...atOnce, window: 2 })).refs as [BatchRef];
      on.clock.jump(20_000);
      expect(Math.ceil(remainingMs(await on.ledger.begin(atClaim, MINUTE)))).toBe(40_000);
    });

    it('setting the clock back leaves it as much of its lease', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const [ref] = (await on.claim('crm', atOnce)).refs as [BatchRef];
      on.clock.setBack(HOUR);
      await on.ledger.clockWentBack(HOUR);
      on.clock.jump(20_000);
      expect(Math.ceil(remainingMs(await on.ledger.begin(ref, MINUTE)))).toBe(40_000);
    });

    it('a failure counts if another lead got through in the meantime, also at a sink that has long worked', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 120));
      await on.attemptAll('crm', delivered, { window: 200 });
      on.clock.jump(MINUTE);
      await on.list(ids(1, 122));
      const [one, other] = (await on.claim('crm', atOnce)).refs as [BatchRef, BatchRef];
      expect(await on.settle(one, delivered)).toBeDefined();
      const settled = await on.settle(other, unavailable);
      expect(settled?.verdicts).toMatchObject([{ state: 'pending', attempts: 1 }]);
    });

    it('the outcome of an attempt whose sink was renamed meanwhile is recorded under the new name', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3]);
      const { ref } = await on.take('crm', { ...atOnce, max: 2, window: 1 });
      await on.declare(aSink('hub', { formerly: 'crm' }));
      expect(await on.settle(ref, delivered, unavailable)).toMatchObject({
        sink: 'hub',
        verdicts: [{ state: 'delivered' }, { state: 'pending' }],
      });
      expect(await on.owed('hub')).toEqual(['1 v1 delivered', '2 v1 pending', '3 v1 pending']);
      const [hub] = await on.ledger.backlog();
      expect(hub).toMatchObject({ sink: 'hub', pending: 2, dead: 0 });
      expect((await on.ledger.status()).sinks[0]?.health.lastDeliveredAt).toEqual(on.clock.now());
    });

    it('batches claimed before a rename begin under the new name, and return to pending if that sink is paused', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const [first, second] = (await on.claim('crm')).refs as [BatchRef, BatchRef];
      await on.declare(aSink('hub', { formerly: 'crm' }));
      expect((await on.begin(first)).batch).toMatchObject({ sink: 'hub', deliveries: [{ leadId: 1n }] });
      await on.ledger.pause('hub', 'a window');
      expect(await on.ledger.begin(second, MINUTE)).toBeUndefined();
      expect(await on.settle(first, delivered)).toBeDefined();
    });

    it('setting the clock ahead ends no lease of a running attempt, whichever process makes it', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const { ref } = await on.take('crm', { window: 1 });
      on.clock.setBack(-HOUR);
      expect((await on.claim('crm', { window: 1 })).refs).toEqual([]);
      on.clock.jump(MINUTE - 1_000);
      expect((await on.claim('crm', { window: 1 })).refs).toEqual([]);
      // Elapsed time still ends it.
      on.clock.jump(1_000);
      expect((await on.claim('crm', { window: 1 })).refs).toMatchObject([{ batch: ref.batch }]);
    });

    it('claiming extends the lease of a running attempt that the clock shows as ended', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const { ref } = await on.take('crm', { window: 1 });
      on.clock.setBack(-HOUR);
      const activeLeases = { leases: [ref.lease], leaseMs: MINUTE };
      expect((await on.claim('crm', { window: 1, activeLeases })).refs).toEqual([]);
      on.clock.jump(MINUTE);
      expect((await on.claim('crm', { window: 1, activeLeases })).refs).toEqual([]);
      expect(await on.settle(ref, delivered)).toBeDefined();
      expect((await on.claim('crm', { window: 1, activeLeases })).refs).toHaveLength(1);
    });

    it('deliveries of a refused part that must stay apart get their own batch, due immediately', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 5));
      const { ref } = await on.take('crm', { max: 5 });
      const [apart, untried] = [{ kind: 'untried', apart: true } as const, { kind: 'untried' } as const];
      await on.settle(ref, apart, apart, untried, untried, untried);
      await on.list([6]);
      const { refs } = await on.claim('crm', { max: 5 });
      const leads = await Promise.all(refs.map(async (one) => (await on.begin(one)).batch.deliveries));
      expect(leads.map((batch) => batch.map(({ leadId }) => leadId))).toEqual([
        [1n, 2n],
        [3n, 4n, 5n, 6n],
      ]);
    });

    it('closing the ledger releases what was not attempted: the next process attempts it immediately', async () => {
      const open = store();
      const on = await LedgerUnderTest.with(open, 'crm');
      await on.list([1, 2]);
      const { refs } = await on.claim('crm', atOnce);
      await on.begin(refs[0] as BatchRef);
      await on.ledger.close();
      const next = on.again();
      expect(await next.ledger.unbegunBatches('crm')).toEqual([refs[1]]);
      expect((await next.begin(refs[1] as BatchRef)).batch.deliveries[0]?.leadId).toBe(2n);
      // The other attempt was running; its outcome is unknown until its lease ends or its process is known to be dead.
      expect(await next.ledger.begin(refs[0] as BatchRef, MINUTE)).toBeUndefined();
      expect(await next.ledger.reclaimLeases(HOLDER)).toBe(2);
    });

    it('claiming begins one probe at a time while the sink is held', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 5));
      await on.attemptAll('crm', unavailable, atOnce);
      expect((await on.claim('crm', atOnce)).refs).toEqual([]);
      on.clock.jump(HOUR);
      const { refs } = await on.claim('crm', atOnce);
      expect(refs).toHaveLength(1);
      expect((await on.begin(refs[0] as BatchRef)).batch.deliveries).toHaveLength(1);
    });
  });

  describe('claiming', () => {
    it('claiming takes due deliveries in order of age, in batches of at most `max`, and none twice', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([9, 3, 7, 1, 5]);
      expect(await on.attemptAll('crm', delivered, { max: 2 })).toEqual([[9n, 3n], [7n, 1n], [5n]]);
      expect((await on.claim('crm')).refs).toEqual([]);
    });

    it('at most `window` batches are claimed, and a full window names no next time', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 10));
      const { refs } = await on.claim('crm', { window: 3 });
      expect(refs).toHaveLength(3);
      const full = await on.claim('crm', { window: 3 });
      expect(full.refs).toEqual([]);
      // The next time is not now: claiming returns nothing before a batch ends, and a caller that trusts the time must not spin.
      expect(full.nextInMs).toBe(MINUTE);
      await on.begin(refs[0] as BatchRef);
      await on.settle(refs[0] as BatchRef, delivered);
      expect((await on.claim('crm', { window: 3 })).refs).toHaveLength(1);
    });

    it('while a backlog drains, every fourth place goes to the newest leads and the others to the oldest', async () => {
      const on = await backlogAndNews(store());
      const window = { window: 4 };
      const open = await Promise.all((await on.claim('crm', window)).refs.map((ref) => on.begin(ref)));
      const taken = open.flatMap(({ batch }) => batch.deliveries.map(({ leadId }) => leadId));
      // One place at a time, as attempts end one after another.
      for (let place = 0; place < 8; place += 1) {
        await on.settle((open.shift() as { ref: BatchRef }).ref, delivered);
        const next = await on.take('crm', window);
        open.push(next);
        taken.push(...next.batch.deliveries.map(({ leadId }) => leadId));
      }
      expect(taken).toEqual([41n, 1n, 2n, 3n, 4n, 5n, 6n, 40n, 7n, 8n, 9n, 39n]);
    });

    it('with one place, the newest and the oldest leads take turns', async () => {
      const on = await backlogAndNews(store());
      const taken: bigint[] = [];
      for (let turn = 0; turn < 6; turn += 1)
        taken.push(...(await on.attemptAll('crm', delivered, { window: 1 })).flat());
      expect(taken).toEqual([1n, 41n, 2n, 40n, 3n, 39n]);
    });

    it('the newest leads get their own batch', async () => {
      const on = await backlogAndNews(store());
      const batches = await on.attemptAll('crm', delivered, { window: 2, max: 5 });
      expect(batches).toEqual([
        [37n, 38n, 39n, 40n, 41n],
        [1n, 2n, 3n, 4n, 5n],
      ]);
    });

    it('while a backlog drains, the newest leads also fill a batch until the oldest of them has waited long enough', async () => {
      const on = await LedgerUnderTest.with(store(), 'drop');
      await on.list(ids(1, 3_000));
      const batches: bigint[][] = [];
      for (let second = 1; second <= 24; second += 1) {
        on.clock.jump(1_000);
        await on.list([3_000 + second]);
        batches.push(...(await on.attemptAll('drop', delivered, { window: 1, max: 100, waitMs: 10_000 })));
      }
      const small = batches.filter(({ length }) => length < 100);
      expect(batches).toHaveLength(24);
      expect(small.map((leads) => leads.map(Number))).toEqual([ids(3_001, 3_012), ids(3_013, 3_024)]);
    });

    it('a newer content waits behind the older one of its lead, however new it is', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('mirror', { events: ['created', 'updated'] }));
      await on.list(ids(1, 20));
      on.clock.jump(MINUTE);
      await on.list(ids(1, 20).map((id) => changedLead(id, 'B')));
      const taken = await on.attemptAll('mirror', delivered, { window: 4 });
      expect(taken.flat()).toEqual([1n, 2n, 3n, 4n]);
    });

    it('a batch waits until it is full or its oldest delivery has waited long enough', async () => {
      const on = await LedgerUnderTest.with(store(), 'drop');
      const request = { max: 3, waitMs: 5 * MINUTE };
      await on.list([1, 2]);
      const early = await on.claim('drop', request);
      expect(early).toMatchObject({ refs: [], nextInMs: 5 * MINUTE });
      on.clock.jump(MINUTE);
      await on.list(ids(1, 4));
      expect(await on.attemptAll('drop', delivered, request)).toEqual([[1n, 2n, 3n]]);
      const { refs, nextInMs } = await on.claim('drop', request);
      expect([refs, nextInMs]).toEqual([[], 5 * MINUTE]);
      on.clock.jump(5 * MINUTE);
      expect(await on.attemptAll('drop', delivered, request)).toEqual([[4n]]);
    });

    it('claiming returns when the next delivery is due', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      expect((await on.claim('crm')).nextInMs).toBeUndefined();
      await on.list([1, 2]);
      const { refs } = await on.claim('crm', { max: 2 });
      const { batch } = await on.begin(refs[0] as BatchRef);
      expect(batch.deliveries).toHaveLength(2);
      await on.settle(refs[0] as BatchRef, delivered, unavailable);
      const { nextInMs } = await on.claim('crm');
      expect(nextInMs).toBe(5_000);
    });

    it('an older content of a lead never overtakes a newer one', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('mirror', { events: ['created', 'updated'] }));
      await on.list([1, 2]);
      const first = await on.take('mirror', { max: 2 });
      await on.list([changedLead(1, 'B'), 2]);
      expect((await on.claim('mirror')).refs).toEqual([]);
      await on.settle(first.ref, unanswered, unanswered);
      const waiting = await on.claim('mirror');
      // The newer content is due but blocked: it must not make the caller come back immediately.
      expect(waiting).toMatchObject({ refs: [], nextInMs: 5_000 });
      on.clock.jump(5_000);
      const again = await on.take('mirror');
      expect(again.batch.deliveries.map((delivery) => delivery.version)).toEqual([1, 1]);
      await on.settle(again.ref, refused, delivered);
      expect((await on.take('mirror')).batch.deliveries[0]).toMatchObject({ version: 2, event: 'updated' });
    });

    it('claiming returns nothing for a sink that was never declared or is no longer configured', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'old');
      await on.list([1]);
      await on.declare('crm');
      expect(await on.claim('old')).toMatchObject({ refs: [], nextInMs: undefined });
      expect(await on.claim('nobody')).toMatchObject({ refs: [], nextInMs: undefined });
      expect(await on.owed('old')).toEqual(['1 v1 pending']);
      await on.declare('crm', 'old');
      expect(await on.attemptAll('old')).toEqual([[1n]]);
    });
  });

  describe('a lease', () => {
    it('a batch whose lease ended without an attempt can be claimed again, and only then', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const [first] = (await on.claim('crm', { max: 2 })).refs as [BatchRef];
      on.clock.jump(MINUTE - 1);
      expect((await on.claim('crm')).refs).toEqual([]);
      on.clock.jump(1);
      const [second] = (await on.claim('crm')).refs as [BatchRef];
      expect(second).toMatchObject({ batch: first.batch, replaces: first.lease });
      expect(second.lease).not.toBe(first.lease);
      expect(await on.ledger.begin(first, MINUTE)).toBeUndefined();
      expect((await on.begin(second)).batch).toMatchObject({
        id: first.batch,
        deliveries: [{ leadId: 1n }, { leadId: 2n }],
      });
    });

    it('a lease permits one attempt, for the first process that asks', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const [ref] = (await on.claim('crm')).refs as [BatchRef];
      const both = await Promise.all([on.ledger.begin(ref, MINUTE), on.again().ledger.begin(ref, MINUTE)]);
      expect(both.filter((batch) => batch !== undefined)).toHaveLength(1);
    });

    it('an ended lease begins nothing, even before another process has the batch', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const [ref] = (await on.claim('crm')).refs as [BatchRef];
      on.clock.jump(MINUTE);
      expect(await on.ledger.begin(ref, MINUTE)).toBeUndefined();
    });

    it('a lease lasts from the beginning of the attempt for as long as the attempt may take', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const [ref] = (await on.claim('crm')).refs as [BatchRef];
      await on.ledger.begin(ref, 10 * MINUTE);
      on.clock.jump(10 * MINUTE - 1);
      expect(await on.claim('crm')).toMatchObject({ refs: [], nextInMs: 1 });
      on.clock.jump(1);
      expect((await on.claim('crm')).refs).toHaveLength(1);
    });

    it("a process cannot settle under another's lease", async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const slow = await on.take('crm');
      on.clock.jump(MINUTE);
      const quick = await on.take('crm');
      expect(await on.settle(slow.ref, refused)).toBeUndefined();
      expect(await on.settle(quick.ref, delivered)).toMatchObject({ verdicts: [{ state: 'delivered' }] });
      expect(await on.settle(quick.ref, refused)).toBeUndefined();
      expect(await on.settle({ ...quick.ref, batch: 'no batch of ours' }, refused)).toBeUndefined();
      expect(await on.owed('crm')).toEqual(['1 v1 delivered']);
    });

    it('a lease without an attempt is listed as waiting until the attempt begins', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const { refs } = await on.claim('crm');
      expect(await on.ledger.unbegunBatches('crm')).toEqual(refs);
      await on.begin(refs[0] as BatchRef);
      expect(await on.ledger.unbegunBatches('crm')).toEqual(refs.slice(1));
      on.clock.jump(MINUTE);
      expect(await on.ledger.unbegunBatches('crm')).toEqual([]);
    });

    it('a lease ends immediately when its process is known to be dead; a batch that waits for its time keeps waiting', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list([1]);
      const lost = await on.take('crm');
      const down = await on.take('drop');
      await on.settle(down.ref, unavailable);
      expect(await on.ledger.holders()).toEqual([HOLDER]);
      expect(await on.again().ledger.reclaimLeases('somebody else')).toBe(0);
      expect(await on.again().ledger.reclaimLeases(HOLDER)).toBe(1);
      expect((await on.claim('crm')).refs).toMatchObject([{ batch: lost.ref.batch }]);
      expect(await on.claim('drop')).toMatchObject({ refs: [], nextInMs: 5_000 });
    });
  });

  describe('a batch', () => {
    it('a batch of which nothing is settled is attempted again as the same batch when it is due', async () => {
      const on = await LedgerUnderTest.with(store(), 'drop');
      await on.list([1, 2]);
      const first = await on.take('drop', { max: 10 });
      await on.settle(first.ref, unavailable, unavailable);
      await on.list(ids(1, 5));
      on.clock.jump(4_999);
      expect((await on.attemptAll('drop', delivered, { max: 10 })).flat()).toEqual([3n, 4n, 5n]);
      on.clock.jump(1);
      const again = await on.take('drop', { max: 10 });
      expect(again.batch).toEqual(first.batch);
    });

    it('a batch has a maximum size in bytes; a longer lead is alone in its batch', async () => {
      const on = await LedgerUnderTest.with(store(), 'drop');
      const long = 'x'.repeat(20_000_000);
      await on.list([changedLead(1, 'A'), changedLead(2, long), changedLead(3, long), changedLead(4, 'B')]);
      const { refs } = await on.claim('drop', { max: 10, window: 3 });
      const taken = await Promise.all(refs.map((ref) => on.begin(ref)));
      expect(taken.map(({ batch }) => batch.deliveries.map(({ leadId }) => leadId))).toEqual([
        [1n, 2n],
        [3n, 4n],
      ]);
    });

    it('identical failures while the sink is held are shown as one attempt with a count', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const tries = [
        unavailable,
        unavailable,
        unavailable,
        unavailable,
        { ...unavailable, reason: 'Its name is gone.' },
      ];
      for (const outcome of tries) {
        const { ref } = await on.take('crm', { max: 2 });
        await on.settle(ref, outcome, outcome);
        on.clock.jump(5 * MINUTE);
      }
      const { ref } = await on.take('crm', { max: 2 });
      await on.settle(ref, delivered, delivered);
      for (const lead of [1n, 2n]) {
        const told = (await on.ledger.trace(lead)).filter(
          ({ what }) => what === 'unavailable' || what === 'delivered',
        );
        expect(told.map(({ what, detail }) => [what, detail])).toEqual([
          [
            'unavailable',
            expect.stringMatching(
              /4 attempts with the same result, last at 2026-11-20T10:14:59.*, It is down\./,
            ),
          ],
          ['unavailable', expect.stringMatching(/Its name is gone\.$/)],
          ['delivered', expect.not.stringContaining('times')],
        ]);
      }
    });

    it('a partly settled batch ends, and the rest is due at its own time', async () => {
      const on = await LedgerUnderTest.with(store(), 'drop');
      await on.list([1, 2, 3]);
      const first = await on.take('drop', { max: 10 });
      await on.settle(first.ref, delivered, unavailable, refused);
      expect(await on.owed('drop')).toEqual(['1 v1 delivered', '2 v1 pending', '3 v1 dead']);
      on.clock.jump(5_000);
      const rest = await on.take('drop', { max: 10 });
      expect(rest.batch.id).not.toBe(first.batch.id);
      expect(rest.batch.deliveries.map((delivery) => delivery.leadId)).toEqual([2n]);
    });

    it('a batch that a stop interrupts is due immediately and stays whole, however often that happens', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 4));
      const first = await on.take('crm', { max: 4 });
      for (let stop = 0; stop < 10; stop += 1) {
        const { ref, batch } = stop === 0 ? first : await on.take('crm', { max: 4 });
        const again = { ...first.batch, deliveries: first.batch.deliveries.map(mayHaveArrived) };
        expect(batch).toEqual(stop === 0 ? first.batch : again);
        expect(await on.ledger.release(ref, true)).toBe(true);
        expect(await on.settle(ref, ...batch.deliveries.map(() => delivered))).toBeUndefined();
      }
    });

    it('only the process that attempts a batch can release it, under its current lease', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const { refs } = await on.claim('crm');
      const ref = refs[0] as BatchRef;
      expect(await on.ledger.release(ref, true)).toBe(false); // not begun
      await on.begin(ref);
      expect(await on.ledger.release({ ...ref, lease: ref.lease + 1 }, true)).toBe(false);
      expect(await on.settle(ref, delivered)).toBeDefined();
      expect(await on.ledger.release(ref, true)).toBe(false);
    });

    it('a batch whose attempts begin and never end is split until the one lead is found; that lead is postponed and the others arrive', async () => {
      const on = await LedgerUnderTest.with(store(), 'drop');
      await on.list(ids(1, 8));
      const arrived = new Set<bigint>();
      for (let round = 0; round < 40; round += 1) {
        for (const ref of (await on.claim('drop', { max: 8 })).refs) {
          const { batch } = await on.begin(ref);
          const leads = batch.deliveries.map((delivery) => delivery.leadId);
          if (leads.includes(5n)) continue; // the process dies of this lead
          for (const lead of leads) arrived.add(lead);
          await on.settle(ref, ...leads.map(() => delivered));
        }
        on.clock.jump(MINUTE);
      }
      expect([...arrived].sort()).toEqual([1n, 2n, 3n, 4n, 6n, 7n, 8n]);
      expect((await on.owed('drop')).filter((row) => row.endsWith('pending'))).toEqual(['5 v1 pending']);
    });

    it('a postponed batch is not offered meanwhile and takes no place in the window', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      for (let lost = 0; lost < 5; lost += 1) {
        await on.take('crm');
        on.clock.jump(MINUTE);
      }
      expect((await on.claim('crm')).refs).toEqual([]);
      expect(await on.ledger.unbegunBatches('crm')).toEqual([]);
      expect(await on.ledger.workOf('crm')).toEqual({ inFlight: 0, due: false });
      await on.list([1, 2]);
      expect(await on.attemptAll('crm', delivered, { window: 1 })).toEqual([[2n]]);
      on.clock.jump(MINUTE);
      expect(await on.attemptAll('crm')).toEqual([[1n]]);
    });

    it('a batch id is never used again', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const seen = new Set<string>();
      for (const id of ids(1, 5)) {
        await on.list([id]);
        const { ref } = await on.take('crm');
        expect(ref.batch).toMatch(/^[a-z0-9]+$/i);
        seen.add(ref.batch);
        await on.settle(ref, delivered);
      }
      expect(seen.size).toBe(5);
    });
  });

  describe('a held sink', () => {
    it('a held sink gets one probe at a time, of one lead, when the probe is due', async () => {
      const on = await heldSink(store(), ids(1, 5));
      expect(await on.claim('crm')).toMatchObject({ refs: [], nextInMs: 5_000 });
      on.clock.jump(5_000);
      const { refs } = await on.claim('crm', { max: 10 });
      expect(refs).toHaveLength(1);
      const { batch } = await on.begin(refs[0] as BatchRef);
      expect(batch.deliveries).toHaveLength(1);
      const during = await on.claim('crm');
      expect(during).toMatchObject({ refs: [], nextInMs: MINUTE });
    });

    it('probes use one lead after another, so that one that always fails blocks no other', async () => {
      const on = await heldSink(store(), ids(1, 4));
      const probed: bigint[] = [];
      for (let probe = 0; probe < 8; probe += 1) {
        on.clock.jump(HOUR);
        const { ref, batch } = await on.take('crm');
        probed.push(...batch.deliveries.map((delivery) => delivery.leadId));
        await on.settle(ref, unavailable);
      }
      expect(new Set(probed)).toEqual(new Set([1n, 2n, 3n, 4n]));
      const rows = await on.ledger.deliveries({ sink: 'crm' }, { limit: 10 });
      expect(rows.map((row) => row.attempts)).toEqual([0, 0, 0, 0]);
    });

    it('a batch that was claimed before the hold does not begin; it waits for the probe as the same batch', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 3));
      const { refs } = await on.claim('crm');
      await on.begin(refs[0] as BatchRef);
      await on.settle(refs[0] as BatchRef, { ...unavailable, retryAfterMs: 5_000 });
      for (const ref of refs.slice(1)) expect(await on.ledger.begin(ref, MINUTE)).toBeUndefined();
      expect(await on.claim('crm')).toMatchObject({ refs: [], nextInMs: 5_000 });
      on.clock.jump(5_000);
      await on.attemptAll('crm');
      const again = await on.claim('crm');
      expect(again.refs.map((ref) => ref.batch).sort()).toEqual(refs.slice(1).map((ref) => ref.batch));
    });

    it('one batch is attempted at a time, even if several arrive late from a queue', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 4));
      const { refs } = await on.claim('crm');
      const [first, second, third, fourth] = refs as [BatchRef, BatchRef, BatchRef, BatchRef];
      await on.begin(first);
      await on.settle(first, { ...unavailable, retryAfterMs: 5_000 });
      // A worker that was silent begins them only when the probe is due.
      on.clock.jump(6_000);
      expect(await on.ledger.begin(second, MINUTE)).toBeDefined();
      expect(await on.ledger.begin(third, MINUTE)).toBeUndefined();
      await on.settle(second, delivered);
      // A probe succeeded: nothing holds back the others.
      expect(await on.ledger.begin(fourth, MINUTE)).toBeDefined();
      await on.settle(fourth, delivered);
      const again = await on.claim('crm');
      expect(again.refs.map((ref) => ref.batch)).toEqual([first.batch, third.batch]);
    });

    it('attempts that began before the hold and fail after the probe was due do not slow down the probes', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 4));
      const { refs } = await on.claim('crm');
      const [first, ...late] = refs as [BatchRef, ...BatchRef[]];
      for (const ref of refs) await on.begin(ref);
      on.clock.jump(1_000);
      await on.settle(first, { ...unavailable, retryAfterMs: 5_000 });
      const health = async () => (await on.ledger.status()).sinks[0]?.health;
      const heldSince = (await health())?.heldSince;
      on.clock.jump(6_000);
      for (const ref of late)
        await on.ledger.settle(ref, {
          outcomes: [unavailable],
          startedAt: on.clock.in(-7_000),
          durationMs: 7_000,
        });
      expect(await health()).toMatchObject({ heldSince, probes: 0, probeAt: on.clock.now() });
      expect((await on.claim('crm')).refs).toHaveLength(1);
    });

    it('after a successful probe, everything is delivered in order of age', async () => {
      const on = await heldSink(store(), ids(1, 5));
      // With more probes than leads, some leads were tried twice and have waited for a shorter time.
      const outcomes = [...Array.from({ length: 6 }, () => unavailable), delivered];
      for (const outcome of outcomes) {
        on.clock.jump(HOUR);
        await on.attemptAll('crm', outcome);
      }
      expect((await on.ledger.status()).sinks[0]?.health.heldSince).toBeUndefined();
      const first = await on.attemptAll('crm');
      expect(first).toHaveLength(MIN_CONCURRENT_BATCHES);
      const rest = [...first, ...(await on.attemptAll('crm'))].flat();
      expect(rest).toHaveLength(4);
      expect(rest).toEqual(rest.toSorted((a, b) => Number(a - b)));
      expect((await on.ledger.backlog())[0]?.pending).toBe(0);
    });
  });

  it('a delivery is listed with the status and the duration of its last attempt', async () => {
    const on = await LedgerUnderTest.with(store(), 'crm');
    await on.list([1]);
    const last = async () => (await on.ledger.deliveries({}, { limit: 1 }))[0]?.lastAttempt;
    expect(await last()).toBeUndefined();
    await on.attemptAll('crm', { ...unavailable, httpStatus: 503 });
    expect(await last()).toEqual({ httpStatus: 503, durationMs: expect.any(Number) });
    on.clock.jump(HOUR);
    await on.attemptAll('crm', { ...refused, httpStatus: 422 });
    expect(await last()).toEqual({ httpStatus: 422, durationMs: expect.any(Number) });
  });
}

/** Opens a ledger whose sink `crm` has been owed leads 1 to 20 for a minute, and 21 to 41 since now. */
async function backlogAndNews(open: OpenLedger): Promise<LedgerUnderTest> {
  const on = await LedgerUnderTest.with(open, 'crm');
  await on.list(ids(1, 20));
  on.clock.jump(MINUTE);
  await on.list(ids(1, 41));
  return on;
}

/** Opens a ledger whose sink `crm` was held by its first attempt: the destination asked for a wait of five seconds. */
async function heldSink(open: OpenLedger, leads: readonly number[]): Promise<LedgerUnderTest> {
  const on = await LedgerUnderTest.with(open, 'crm');
  await on.list(leads);
  const { ref } = await on.take('crm', { window: 1 });
  await on.settle(ref, { ...unavailable, retryAfterMs: 5_000 });
  expect((await on.ledger.status()).sinks[0]?.health.heldSince).toEqual(on.clock.now());
  return on;
}
