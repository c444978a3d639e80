import { describe, expect, it } from 'vitest';
import { MIN_CONCURRENT_BATCHES } from '../../../src/delivery/circuit-breaker.ts';
import type { BatchRef } from '../../../src/leads/delivery.ts';
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

/** What every ledger promises of batches on their way: order, window, lease and fence. */
export function claimingContract(store: () => OpenLedger): void {
  describe('claiming for attempts in this process', () => {
    const atOnce = { beginForMs: MINUTE };

    it('begins them in the same commit, so that nobody else can, and each once', async () => {
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

    it('fences an attempt that asks for its batch after the lease has ended', async () => {
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

    it('fences it as well when the clock was set back in between, and the lease with it', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const [late] = (await on.claim('crm', atOnce)).refs as [BatchRef];
      on.clock.setBack(HOUR);
      await on.ledger.clockWentBack(HOUR);
      on.clock.jump(MINUTE + 1);
      expect(await on.ledger.begin(late, MINUTE)).toBeUndefined();
    });

    it('records what came of an attempt whose sink was renamed meanwhile, under its new name', async () => {
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

    it('begins what was claimed before its sink was renamed, and puts it back when that is paused', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const [first, second] = (await on.claim('crm')).refs as [BatchRef, BatchRef];
      await on.declare(aSink('hub', { formerly: 'crm' }));
      expect((await on.begin(first)).batch).toMatchObject({ sink: 'hub', deliveries: [{ leadId: 1n }] });
      await on.ledger.pause('hub', 'a window');
      expect(await on.ledger.begin(second, MINUTE)).toBeUndefined();
      expect(await on.settle(first, delivered)).toBeDefined();
    });

    it('ends no lease of an attempt because the clock was set ahead, whichever process makes it', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const { ref } = await on.take('crm', { window: 1 });
      on.clock.setBack(-HOUR);
      expect((await on.claim('crm', { window: 1 })).refs).toEqual([]);
      on.clock.jump(MINUTE - 1_000);
      expect((await on.claim('crm', { window: 1 })).refs).toEqual([]);
      // The time that passes ends it all the same.
      on.clock.jump(1_000);
      expect((await on.claim('crm', { window: 1 })).refs).toMatchObject([{ batch: ref.batch }]);
    });

    it('prolongs the lease of an attempt that is still under way where the clock says that it is over', async () => {
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

    it('puts those of a refused part that are to stay apart into a batch of their own, which is due at once', async () => {
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

    it('gives back what was not attempted when the ledger is closed: the next process attempts it at once', async () => {
      const open = store();
      const on = await LedgerUnderTest.with(open, 'crm');
      await on.list([1, 2]);
      const { refs } = await on.claim('crm', atOnce);
      await on.begin(refs[0] as BatchRef);
      await on.ledger.close();
      const next = on.again();
      expect(await next.ledger.unbegunBatches('crm')).toEqual([refs[1]]);
      expect((await next.begin(refs[1] as BatchRef)).batch.deliveries[0]?.leadId).toBe(2n);
      // The other was under way, and nobody can tell what became of it before its lease ends or its process is known to be dead.
      expect(await next.ledger.begin(refs[0] as BatchRef, MINUTE)).toBeUndefined();
      expect(await next.ledger.reclaimLeases(HOLDER)).toBe(2);
    });

    it('sends one probe at a time while the sink is held', async () => {
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
    it('takes what is due in order of age, in batches of at most `max`, and nothing twice', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([9, 3, 7, 1, 5]);
      expect(await on.attemptAll('crm', delivered, { max: 2 })).toEqual([[9n, 3n], [7n, 1n], [5n]]);
      expect((await on.claim('crm')).refs).toEqual([]);
    });

    it('keeps at most `window` batches on their way, and asks for no time while the window is full', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 10));
      const { refs } = await on.claim('crm', { window: 3 });
      expect(refs).toHaveLength(3);
      const full = await on.claim('crm', { window: 3 });
      expect(full.refs).toEqual([]);
      // Not now: claiming again gives nothing before one of them ends. A caller that trusts this must not spin.
      expect(full.nextAt).toEqual(on.clock.in(MINUTE));
      await on.begin(refs[0] as BatchRef);
      await on.settle(refs[0] as BatchRef, delivered);
      expect((await on.claim('crm', { window: 3 })).refs).toHaveLength(1);
    });

    it('gives the newest leads every fourth place while a backlog drains, and the oldest the others', async () => {
      const on = await backlogAndNews(store());
      const window = { window: 4 };
      const open = await Promise.all((await on.claim('crm', window)).refs.map((ref) => on.begin(ref)));
      const taken = open.flatMap(({ batch }) => batch.deliveries.map(({ leadId }) => leadId));
      // Place by place, as attempts end one after another.
      for (let place = 0; place < 8; place += 1) {
        await on.settle((open.shift() as { ref: BatchRef }).ref, delivered);
        const next = await on.take('crm', window);
        open.push(next);
        taken.push(...next.batch.deliveries.map(({ leadId }) => leadId));
      }
      expect(taken).toEqual([41n, 1n, 2n, 3n, 4n, 5n, 6n, 40n, 7n, 8n, 9n, 39n]);
    });

    it('lets the newest and the oldest take turns where there is one place', async () => {
      const on = await backlogAndNews(store());
      const taken: bigint[] = [];
      for (let turn = 0; turn < 6; turn += 1)
        taken.push(...(await on.attemptAll('crm', delivered, { window: 1 })).flat());
      expect(taken).toEqual([1n, 41n, 2n, 40n, 3n, 39n]);
    });

    it('gives the newest a batch of their own', async () => {
      const on = await backlogAndNews(store());
      const batches = await on.attemptAll('crm', delivered, { window: 2, max: 5 });
      expect(batches).toEqual([
        [37n, 38n, 39n, 40n, 41n],
        [1n, 2n, 3n, 4n, 5n],
      ]);
    });

    it('lets the newest fill a batch as well while a backlog drains, until the oldest of them has waited', async () => {
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

    it('lets a newer content wait behind the older one of its lead, however new it is', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('mirror', { events: ['created', 'updated'] }));
      await on.list(ids(1, 20));
      on.clock.jump(MINUTE);
      await on.list(ids(1, 20).map((id) => changedLead(id, 'B')));
      const taken = await on.attemptAll('mirror', delivered, { window: 4 });
      expect(taken.flat()).toEqual([1n, 2n, 3n, 4n]);
    });

    it('lets a batch fill until it is full or its oldest has waited', async () => {
      const on = await LedgerUnderTest.with(store(), 'drop');
      const request = { max: 3, waitMs: 5 * MINUTE };
      await on.list([1, 2]);
      const early = await on.claim('drop', request);
      expect(early).toMatchObject({ refs: [], nextAt: on.clock.in(5 * MINUTE) });
      on.clock.jump(MINUTE);
      await on.list(ids(1, 4));
      expect(await on.attemptAll('drop', delivered, request)).toEqual([[1n, 2n, 3n]]);
      const { refs, nextAt } = await on.claim('drop', request);
      expect([refs, nextAt]).toEqual([[], on.clock.in(5 * MINUTE)]);
      on.clock.jump(5 * MINUTE);
      expect(await on.attemptAll('drop', delivered, request)).toEqual([[4n]]);
    });

    it('says when the next delivery is due', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      expect((await on.claim('crm')).nextAt).toBeUndefined();
      await on.list([1, 2]);
      const { refs } = await on.claim('crm', { max: 2 });
      const { batch } = await on.begin(refs[0] as BatchRef);
      expect(batch.deliveries).toHaveLength(2);
      await on.settle(refs[0] as BatchRef, delivered, unavailable);
      const { nextAt } = await on.claim('crm');
      expect(nextAt).toEqual(on.clock.in(5_000));
    });

    it('never lets an older content of a lead overtake a newer one', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('mirror', { events: ['created', 'updated'] }));
      await on.list([1, 2]);
      const first = await on.take('mirror', { max: 2 });
      await on.list([changedLead(1, 'B'), 2]);
      expect((await on.claim('mirror')).refs).toEqual([]);
      await on.settle(first.ref, unanswered, unanswered);
      const waiting = await on.claim('mirror');
      // The newer one is due and blocked: it must not be given as a reason to come back at once.
      expect(waiting).toMatchObject({ refs: [], nextAt: on.clock.in(5_000) });
      on.clock.jump(5_000);
      const again = await on.take('mirror');
      expect(again.batch.deliveries.map((delivery) => delivery.version)).toEqual([1, 1]);
      await on.settle(again.ref, refused, delivered);
      expect((await on.take('mirror')).batch.deliveries[0]).toMatchObject({ version: 2, event: 'updated' });
    });

    it('gives nothing of a sink that nobody declared, or that is no longer configured', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'old');
      await on.list([1]);
      await on.declare('crm');
      expect(await on.claim('old')).toMatchObject({ refs: [], nextAt: undefined });
      expect(await on.claim('nobody')).toMatchObject({ refs: [], nextAt: undefined });
      expect(await on.owed('old')).toEqual(['1 v1 pending']);
      await on.declare('crm', 'old');
      expect(await on.attemptAll('old')).toEqual([[1n]]);
    });
  });

  describe('a lease', () => {
    it('that ends without an attempt is given again for the same batch, and only then', async () => {
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

    it('allows one attempt, whoever asks first', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const [ref] = (await on.claim('crm')).refs as [BatchRef];
      const both = await Promise.all([on.ledger.begin(ref, MINUTE), on.again().ledger.begin(ref, MINUTE)]);
      expect(both.filter((batch) => batch !== undefined)).toHaveLength(1);
    });

    it('that is over begins nothing, even before it was given to another', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const [ref] = (await on.claim('crm')).refs as [BatchRef];
      on.clock.jump(MINUTE);
      expect(await on.ledger.begin(ref, MINUTE)).toBeUndefined();
    });

    it('lasts from the beginning of the attempt for as long as the attempt may take', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const [ref] = (await on.claim('crm')).refs as [BatchRef];
      await on.ledger.begin(ref, 10 * MINUTE);
      on.clock.jump(10 * MINUTE - 1);
      expect(await on.claim('crm')).toMatchObject({ refs: [], nextAt: on.clock.in(1) });
      on.clock.jump(1);
      expect((await on.claim('crm')).refs).toHaveLength(1);
    });

    it('that another holds settles nothing', async () => {
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

    it('that waits for its attempt is listed as waiting, until it begins', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const { refs } = await on.claim('crm');
      expect(await on.ledger.unbegunBatches('crm')).toEqual(refs);
      await on.begin(refs[0] as BatchRef);
      expect(await on.ledger.unbegunBatches('crm')).toEqual(refs.slice(1));
      on.clock.jump(MINUTE);
      expect(await on.ledger.unbegunBatches('crm')).toEqual([]);
    });

    it('ends at once when its process is known to be dead, and what merely waits for its time goes on waiting', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list([1]);
      const lost = await on.take('crm');
      const down = await on.take('drop');
      await on.settle(down.ref, unavailable);
      expect(await on.ledger.holders()).toEqual([HOLDER]);
      expect(await on.again().ledger.reclaimLeases('somebody else')).toBe(0);
      expect(await on.again().ledger.reclaimLeases(HOLDER)).toBe(1);
      expect((await on.claim('crm')).refs).toMatchObject([{ batch: lost.ref.batch }]);
      expect(await on.claim('drop')).toMatchObject({ refs: [], nextAt: on.clock.in(5_000) });
    });
  });

  describe('a batch', () => {
    it('of which nothing is settled is attempted again as the same batch, when it is due', async () => {
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

    it('holds no more text than fits in memory beside others; a lead that is longer is alone', async () => {
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

    it('that fails alike again and again while its sink is held is told as one attempt, with how often', async () => {
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

    it('of which a part is settled ends, and the rest is due in its own time', async () => {
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

    it('whose attempt was cut off by a stop is due at once, whole, however often that happens', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 4));
      const first = await on.take('crm', { max: 4 });
      for (let stop = 0; stop < 10; stop += 1) {
        const { ref, batch } = stop === 0 ? first : await on.take('crm', { max: 4 });
        expect(batch).toEqual(first.batch);
        expect(await on.ledger.release(ref, true)).toBe(true);
        expect(await on.settle(ref, ...batch.deliveries.map(() => delivered))).toBeUndefined();
      }
    });

    it('is given back by nobody but the process that attempts it, under the lease that it has', async () => {
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

    it('whose attempts begin and never end is split until the one lead is known; that one is put off, the others arrive', async () => {
      const on = await LedgerUnderTest.with(store(), 'drop');
      await on.list(ids(1, 8));
      const arrived = new Set<bigint>();
      for (let round = 0; round < 40; round += 1) {
        for (const ref of (await on.claim('drop', { max: 8 })).refs) {
          const { batch } = await on.begin(ref);
          const leads = batch.deliveries.map((delivery) => delivery.leadId);
          if (leads.includes(5n)) continue; // the process dies of it
          for (const lead of leads) arrived.add(lead);
          await on.settle(ref, ...leads.map(() => delivered));
        }
        on.clock.jump(MINUTE);
      }
      expect([...arrived].sort()).toEqual([1n, 2n, 3n, 4n, 6n, 7n, 8n]);
      expect((await on.owed('drop')).filter((row) => row.endsWith('pending'))).toEqual(['5 v1 pending']);
    });

    it('that is put off is not on its way: it is not offered meanwhile, and takes no place from others', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      for (let lost = 0; lost < 5; lost += 1) {
        await on.take('crm');
        on.clock.jump(MINUTE);
      }
      expect((await on.claim('crm')).refs).toEqual([]);
      expect(await on.ledger.unbegunBatches('crm')).toEqual([]);
      expect(await on.ledger.activity('crm')).toEqual({ inFlight: 0, due: false });
      await on.list([1, 2]);
      expect(await on.attemptAll('crm', delivered, { window: 1 })).toEqual([[2n]]);
      on.clock.jump(MINUTE);
      expect(await on.attemptAll('crm')).toEqual([[1n]]);
    });

    it('has an id that is never used again', async () => {
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

  describe('a sink that is held', () => {
    it('gets one probe at a time, of one lead, when it is time for it', async () => {
      const on = await heldSink(store(), ids(1, 5));
      expect(await on.claim('crm')).toMatchObject({ refs: [], nextAt: on.clock.in(5_000) });
      on.clock.jump(5_000);
      const { refs } = await on.claim('crm', { max: 10 });
      expect(refs).toHaveLength(1);
      const { batch } = await on.begin(refs[0] as BatchRef);
      expect(batch.deliveries).toHaveLength(1);
      const during = await on.claim('crm');
      expect(during).toMatchObject({ refs: [], nextAt: on.clock.in(MINUTE) });
    });

    it('is probed with one lead after the other, so that one that always fails keeps nobody waiting', async () => {
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

    it('begins nothing that was on its way when it was held: that waits for the probe, as the same batch', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 3));
      const { refs } = await on.claim('crm');
      await on.begin(refs[0] as BatchRef);
      await on.settle(refs[0] as BatchRef, { ...unavailable, retryAfterMs: 5_000 });
      for (const ref of refs.slice(1)) expect(await on.ledger.begin(ref, MINUTE)).toBeUndefined();
      expect(await on.claim('crm')).toMatchObject({ refs: [], nextAt: on.clock.in(5_000) });
      on.clock.jump(5_000);
      await on.attemptAll('crm');
      const again = await on.claim('crm');
      expect(again.refs.map((ref) => ref.batch).sort()).toEqual(refs.slice(1).map((ref) => ref.batch));
    });

    it('is attempted with one batch at a time, also when several come late from a queue', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 4));
      const { refs } = await on.claim('crm');
      const [first, second, third, fourth] = refs as [BatchRef, BatchRef, BatchRef, BatchRef];
      await on.begin(first);
      await on.settle(first, { ...unavailable, retryAfterMs: 5_000 });
      // A worker that was silent begins them only when it is time for the probe.
      on.clock.jump(6_000);
      expect(await on.ledger.begin(second, MINUTE)).toBeDefined();
      expect(await on.ledger.begin(third, MINUTE)).toBeUndefined();
      await on.settle(second, delivered);
      // A probe got through: nothing keeps the others back.
      expect(await on.ledger.begin(fourth, MINUTE)).toBeDefined();
      await on.settle(fourth, delivered);
      const again = await on.claim('crm');
      expect(again.refs.map((ref) => ref.batch)).toEqual([first.batch, third.batch]);
    });

    it('is not probed more slowly because of attempts that began before the hold and fail after the probe was due', async () => {
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

    it('gets everything in order of age once a probe got through', async () => {
      const on = await heldSink(store(), ids(1, 5));
      // More probes than leads: some were tried a second time, and wait less long than the others.
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
}

/** A sink `crm` that is owed leads 1 to 20 since a minute ago, and 21 to 41 since now. */
async function backlogAndNews(open: OpenLedger): Promise<LedgerUnderTest> {
  const on = await LedgerUnderTest.with(open, 'crm');
  await on.list(ids(1, 20));
  on.clock.jump(MINUTE);
  await on.list(ids(1, 41));
  return on;
}

/** A sink `crm` that was held by the first attempt, whose destination asked for a wait of five seconds. */
async function heldSink(open: OpenLedger, leads: readonly number[]): Promise<LedgerUnderTest> {
  const on = await LedgerUnderTest.with(open, 'crm');
  await on.list(leads);
  const { ref } = await on.take('crm', { window: 1 });
  await on.settle(ref, { ...unavailable, retryAfterMs: 5_000 });
  expect((await on.ledger.status()).sinks[0]?.health.heldSince).toEqual(on.clock.now());
  return on;
}
