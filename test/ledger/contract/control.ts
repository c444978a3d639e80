import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { REFUSALS_BEFORE_HOLD } from '../../../src/leads/sink-health.ts';
import { until } from '../../support/time/until.ts';
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
  unavailable,
} from '../ledger-under-test.ts';

/** Registers the tests of what every ledger promises to operators: their changes and their queries. */
export function controlContract(store: () => OpenLedger): void {
  describe('the id of a delivery', () => {
    it('the id stays the same across attempts, restarts and a new ledger', async () => {
      const [one, other] = [
        await LedgerUnderTest.with(store(), 'crm'),
        await LedgerUnderTest.with(store(), 'crm'),
      ];
      await one.list([41, 42]);
      await other.list([42]);
      const first = await idOf(one, 42n);
      await one.attemptAll('crm', unavailable);
      expect(await idOf(one.again(), 42n)).toBe(first);
      expect(await idOf(other, 42n)).toBe(first);
    });

    it('the id finds its delivery and no other', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list([1, 2]);
      for (const row of await on.ledger.deliveries({}, { limit: 10 }))
        expect(await on.ledger.deliveries({ delivery: row.delivery }, { limit: 10 })).toEqual([row]);
      for (const odd of [
        '',
        'x',
        'crm:main:1',
        "crm:main:1:1:' OR 1=1",
        'crm:main:99999999999999999999:1:00000000',
      ])
        expect(await on.ledger.deliveries({ delivery: odd }, { limit: 10 })).toEqual([]);
    });
  });

  it('what a lead became at its destination, and a remark about it, are kept with its delivery, and only there', async () => {
    const on = await LedgerUnderTest.with(store(), 'crm');
    await on.list([1, 2]);
    const ref = {
      object: 'deal',
      id: '9007199254740993',
      url: 'https://crm.example.com/deal/9007199254740993',
    };
    const { ref: batch } = await on.take('crm', { max: 2 });
    await on.settle(
      batch,
      { kind: 'delivered', ref },
      { kind: 'delivered', ref: { object: 'deal', id: '2' }, remark: 'The CRM took no email.' },
    );
    const rows = await on.again().ledger.deliveries({}, { limit: 10 });
    expect(rows.map((row) => [row.lead, row.ref, row.reason])).toEqual([
      ['2', { object: 'deal', id: '2' }, 'The CRM took no email.'],
      ['1', ref, undefined],
    ]);
    await on.list([1, 2, 3]);
    await on.attemptAll('crm');
    expect((await on.ledger.deliveries({ lead: 3n }, { limit: 1 }))[0]?.ref).toBeUndefined();
  });

  describe('retry', () => {
    it('retry makes a dead delivery due now, with a fresh schedule', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      await on.attemptAll('crm', refused);
      expect(await on.ledger.retry({ lead: 1n })).toBe(1);
      expect(await on.owed('crm')).toEqual(['1 v1 pending', '2 v1 dead']);
      const [row] = await on.ledger.deliveries({ lead: 1n }, { limit: 1 });
      expect(row).toMatchObject({ attempts: 0, reason: undefined, settledAt: undefined });
      expect(await on.attemptAll('crm')).toEqual([[1n]]);
    });

    it('retry makes a pending delivery due now, even in its batch', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const { ref } = await on.take('crm', { max: 2 });
      await on.settle(ref, unavailable, unavailable);
      expect((await on.claim('crm')).refs).toEqual([]);
      expect(await on.ledger.retry({ sink: 'crm' })).toBe(2);
      expect(await on.attemptAll('crm')).toEqual([[1n, 2n]]);
    });

    it('retry does not affect delivered, skipped or running deliveries', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', aSink('drop', { backfill: false }));
      await on.list([1]);
      await on.attemptAll('crm');
      await on.list([1, 2]);
      await on.take('crm');
      await on.take('drop');
      expect(await on.ledger.retry({})).toBe(0);
      expect(await on.owed('drop')).toEqual(['1 v1 skipped', '2 v1 pending']);
    });

    it('retry does not affect a dead delivery once a newer content of its lead was delivered or is being delivered', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      await on.list([1, 2]);
      await on.attemptAll('crm', refused);
      await on.list([changedLead(1, 'B'), 2]);
      const { ref } = await on.take('crm');
      expect(await on.ledger.retry({ states: ['dead'], lead: 1n })).toBe(0);
      await on.settle(ref, delivered);
      expect(await on.ledger.retry({ states: ['dead'] })).toBe(1);
      expect(await on.owed('crm')).toEqual(['1 v1 dead', '2 v1 pending', '1 v2 delivered']);
    });

    it('retry selects the last delivery that a sink was owed of a lead, and none before it', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.attemptAll('crm', refused);
      await on.list([changedLead(1, 'B')]);
      await on.attemptAll('crm', refused);
      expect(await on.owed('crm')).toEqual(['1 v1 dead', '1 v2 dead']);
      expect(await on.ledger.retry({ states: ['dead'] })).toBe(1);
      expect(await on.owed('crm')).toEqual(['1 v1 dead', '1 v2 pending']);
      expect(await on.ledger.retry({ states: ['dead'] })).toBe(0);
    });

    it('retry selects by source, state and time', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1], 'north');
      on.clock.jump(MINUTE);
      const since = on.clock.now();
      await on.list([1], 'south');
      await on.attemptAll('crm', refused);
      expect(await on.ledger.retry({ states: ['pending'] })).toBe(0);
      expect(await on.ledger.retry({ source: 'north', since })).toBe(0);
      expect(await on.ledger.retry({ until: since })).toBe(1);
      expect(await on.ledger.retry({ since, states: ['dead'] })).toBe(1);
    });
  });

  describe('leads that are owed again because their sink refused every lead', () => {
    it('an older content does not follow a newer one that is being delivered', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: ['created', 'updated'] }));
      await on.list([1, 2, 3, 4, 5]);
      const before = await on.claim('crm', { window: 4 });
      for (const ref of before.refs) {
        await on.begin(ref);
        await on.settle(ref, refused);
      }
      const fifth = await on.take('crm', { window: 1 });
      await on.list([changedLead(1, 'B'), 2, 3, 4, 5]);
      const newer = await on.take('crm');
      expect(await on.settle(fifth.ref, refused)).toMatchObject({ revived: 3 });
      await on.settle(newer.ref, delivered);
      expect((await on.owed('crm')).filter((row) => row.startsWith('1 '))).toEqual([
        '1 v1 dead',
        '1 v2 delivered',
      ]);
    });
  });

  describe('replay', () => {
    it('replay owes the current content again, under a new id that the receiver can distinguish', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      await on.list([changedLead(1, 'B'), 2]);
      await on.attemptAll('crm');
      on.clock.jump(1);
      expect(await on.ledger.replay('crm', { lead: 1n })).toBe(1);
      const { batch } = await on.take('crm');
      const [original, replayed] = [...(await on.ledger.deliveries({ lead: 1n }, { limit: 5 }))].reverse();
      expect(batch.deliveries).toMatchObject([
        { leadId: 1n, version: 2, replay: true, id: replayed?.delivery },
      ]);
      expect(replayed?.delivery).not.toBe(original?.delivery);
      expect(original).toMatchObject({ replay: false, state: 'delivered' });
    });

    it('replay counts what it owes: a second replay at the same instant owes nothing more', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      expect(await on.ledger.replay('crm', {})).toBe(1);
      expect(await on.ledger.replay('crm', {})).toBe(0);
      on.clock.jump(1);
      expect(await on.ledger.replay('crm', {})).toBe(1);
      expect(await on.owed('crm')).toHaveLength(3);
    });

    it('replay selects by the time at which a lead was first seen, and by source', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1], 'north');
      on.clock.jump(MINUTE);
      const then = on.clock.now();
      await on.list([2], 'south');
      on.clock.jump(MINUTE);
      expect(await on.ledger.replay('crm', { since: then, source: 'north' })).toBe(0);
      expect(await on.ledger.replay('crm', { since: then })).toBe(1);
      expect(await on.ledger.replay('crm', { until: then, source: 'north' })).toBe(1);
      expect(await on.ledger.replay('nobody', {})).toBe(0);
    });
  });

  describe('a replay by time', () => {
    it('it selects leads first seen or changed in that time, all of them or one lead', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3]);
      on.clock.jump(HOUR);
      const since = on.clock.now();
      await on.list([1, changedLead(2, 'B'), changedLead(3, 'B'), 4]);
      on.clock.jump(HOUR);
      const until = on.clock.now();
      await on.list([1, changedLead(2, 'B'), changedLead(3, 'C'), 4, 5]);
      // The current content of the third lead is newer than that time.
      expect(await on.ledger.replay('crm', { since, until })).toBe(2);
      const rows = await on.ledger.deliveries({}, { limit: 50 });
      expect(rows.filter(({ replay }) => replay).map(({ lead, version }) => `${lead} v${version}`)).toEqual([
        '4 v1',
        '2 v2',
      ]);
      on.clock.jump(1);
      expect(await on.ledger.replay('crm', { since })).toBe(4);
      on.clock.jump(1);
      expect(await on.ledger.replay('crm', { until: since })).toBe(3); // first seen before it
      for (const [lead, times] of [
        [1n, 0],
        [2n, 1],
        [3n, 0],
        [4n, 1],
        [5n, 0],
      ] as const) {
        on.clock.jump(1);
        expect(await on.ledger.replay('crm', { lead, since, until })).toBe(times);
      }
    });

    it('it replays the content that was current when it was requested, even if leads change meanwhile', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const listing = (one: string, other: string) => [
        ...ids(3, 1_000),
        changedLead(1, one),
        changedLead(2, other),
      ];
      await on.list([1, 2]);
      on.clock.jump(HOUR);
      const since = on.clock.now();
      await on.list(listing('B', 'B'));
      on.clock.jump(HOUR);
      const end = on.clock.now();
      await on.list(listing('C', 'B'));
      on.clock.jump(1);
      const replaying = on.ledger.replay('crm', { since, until: end });
      await until('a part is owed', async () => (await on.owed('crm')).length > 1_000);
      await on.list(listing('D', 'D'));
      expect(await replaying).toBe(999);
    });
  });

  describe('a replay of many leads', () => {
    it('it owes each lead once, in order, and lets other work run in between', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 1_000));
      on.clock.jump(1);
      const other = on.again();
      // Opens the other ledger and connects it before the replay begins.
      await other.ledger.resume('crm');
      const replaying = on.ledger.replay('crm', {});
      let settled = false;
      void replaying.finally(() => {
        settled = true;
      });
      let claims = 0;
      while (!settled) {
        await other.claim('crm', { window: 1 });
        claims += 1;
      }
      expect(await replaying).toBe(1_000);
      expect(claims).toBeGreaterThan(3);
      expect(await on.owed('crm')).toEqual(
        [...ids(1, 1_000), ...ids(1, 1_000)].map((id) => `${id} v1 pending`),
      );
    });

    it('another process finishes a replay whose process was killed, and owes nothing twice', async () => {
      const open = store();
      const many = 3_000; // so many that the replay is in the middle when it is seen for the first time
      const on = await LedgerUnderTest.with(open, 'crm');
      await on.list(ids(1, many));
      on.clock.jump(1);
      const killed = on.again();
      const asked = killed.ledger.replay('crm', {});
      asked.catch(() => undefined); // the test takes its ledger away
      // In turns with the replay, which is in the same thread: on a busy machine, a wait by time would miss the middle.
      const pending = async () => (await on.ledger.status()).sinks[0]?.pending ?? 0;
      while ((await pending()) <= many) await turn();
      await killed.ledger.close();
      expect((await on.owed('crm')).length).toBeLessThan(2 * many);
      expect(await on.ledger.finishReplays()).toBe(0); // the process may still be alive
      on.clock.setBack(HOUR); // the process was killed at a time that is now in the future
      await on.list([...ids(2, many), changedLead(1, 'B'), many + 1]);
      expect(await on.ledger.finishReplays()).toBe(many);
      expect(await on.ledger.finishReplays()).toBe(0);
      const rows = await on.ledger.deliveries({}, { limit: 4 * many });
      const replayed = rows.filter(({ replay }) => replay).map(({ lead }) => lead);
      expect(new Set(replayed)).toEqual(new Set(ids(1, many).map(String)));
      expect(replayed).toHaveLength(many);
    });
  });

  describe('a batch with untried deliveries', () => {
    it('the batch ends: an untried delivery goes first and alone, without a recorded attempt, and the others wait as usual', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 7));
      const { ref } = await on.take('crm', { max: 7 });
      const untried = { kind: 'untried' } as const;
      await on.settle(ref, ...Array(5).fill(refused), untried, untried);
      const rows = await on.ledger.deliveries({}, { limit: 10 });
      expect(rows.map(({ state, attempts }) => `${state} ${attempts}`)).toEqual(Array(7).fill('pending 0'));
      expect((await on.ledger.trace(6n)).map(({ what }) => what)).not.toContain('untried');
      on.clock.jump(10_000);
      expect(await on.attemptAll('crm', delivered, { max: 7 })).toEqual([[6n]]);
      expect(await on.attemptAll('crm', delivered, { max: 7 })).toEqual([[1n, 2n, 3n, 4n, 5n, 7n]]);
    });

    it('an untried delivery that was in a part that may have arrived says so at its next attempt, and no other does', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3]);
      const { ref } = await on.take('crm', { max: 3 });
      const untried = { kind: 'untried' } as const;
      await on.settle(ref, delivered, { ...untried, mayHaveArrived: true }, untried);
      const { batch } = await on.take('crm', { max: 3 });
      expect(batch.deliveries.map(({ leadId, mayHaveArrived }) => [leadId, mayHaveArrived])).toEqual([
        [2n, true],
        [3n, undefined],
      ]);
    });
  });

  describe('pause', () => {
    it('the daily limit of a destination is kept until an attempt reports another, also when the sink is resumed', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3]);
      const quota = { unit: 'API requests', used: 9, limit: 10, readAt: on.clock.in(0) };
      const { ref } = await on.take('crm', { window: 1 });
      const attempt = { outcomes: [delivered], startedAt: on.clock.in(-12), durationMs: 12 };
      await on.ledger.settle(ref, { ...attempt, quota });
      await on.attemptAll('crm', unavailable, { window: 2 });
      await on.ledger.resume('crm');
      const { sinks } = await on.again().ledger.status();
      expect(sinks.map(({ health }) => health.quota)).toEqual([quota]);
    });

    it('pause keeps the backlog and delivers nothing until the sink is resumed, across restarts', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      expect(await on.ledger.pause('crm', 'maintenance')).toBe(true);
      const restarted = on.again();
      await restarted.declare('crm');
      await restarted.list([1, 2]);
      const claimed = await restarted.claim('crm');
      expect(claimed).toMatchObject({
        refs: [],
        nextInMs: undefined,
        health: { pausedReason: 'maintenance' },
      });
      expect((await restarted.ledger.status()).sinks[0]?.health).toMatchObject({
        pausedReason: 'maintenance',
      });
      expect(await restarted.ledger.resume('crm')).toBe(true);
      expect((await restarted.attemptAll('crm')).flat()).toEqual([1n, 2n]);
    });

    it('pause holds back batches that were claimed but have not begun', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const { refs } = await on.claim('crm');
      await on.ledger.pause('crm', 'maintenance');
      for (const ref of refs) expect(await on.ledger.begin(ref, MINUTE)).toBeUndefined();
      expect(await on.ledger.workOf('crm')).toEqual({ inFlight: 0, due: false });
      await on.ledger.resume('crm');
      expect((await on.attemptAll('crm')).flat()).toEqual([1n, 2n]);
    });

    it('resume makes the next probe of a held sink due, even one an hour away, and the rest waits for its result', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 9));
      const { ref } = await on.take('crm', { window: 1 });
      await on.settle(ref, { ...unavailable, retryAfterMs: HOUR });
      expect((await on.claim('crm')).refs).toEqual([]);
      on.clock.jump(1_000);
      for (const outcome of [unavailable, delivered]) {
        await on.ledger.resume('crm');
        expect(await on.attemptAll('crm', outcome)).toHaveLength(1);
      }
      const { sinks } = await on.ledger.status();
      expect(sinks).toMatchObject([{ delivered: 1, pending: 8, health: { heldSince: undefined } }]);
      expect((await on.attemptAll('crm')).length).toBeGreaterThan(1);
    });

    it('leads that are refused again by the probe of resume do not hold the sink for good', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, REFUSALS_BEFORE_HOLD));
      await on.attemptAll('crm', refused);
      const health = async () => (await on.ledger.status()).sinks[0]?.health;
      expect((await health())?.heldSince).toBeDefined();
      on.clock.jump(1_000);
      await on.ledger.resume('crm');
      on.clock.jump(1_000);
      expect((await on.attemptAll('crm', refused)).flat()).toHaveLength(1);
      expect(await health()).toMatchObject({ heldSince: undefined });
    });

    it('why a sink is held is kept with the status of the answer, also by another process', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.attemptAll('crm', { ...unavailable, httpStatus: 401, retryAfterMs: HOUR });
      const { sinks } = await on.again().ledger.status();
      expect(sinks).toMatchObject([{ health: { heldReason: 'It is down.', heldStatus: 401 } }]);
    });

    it('resume makes a lone lead that waited for the next probe the probe', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      const { ref } = await on.take('crm', { window: 1 });
      await on.settle(ref, { ...unavailable, retryAfterMs: HOUR });
      await on.ledger.resume('crm');
      expect((await on.attemptAll('crm')).flat()).toEqual([1n]);
    });

    it('resume sends no second probe beside one that is being attempted', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3]);
      const { ref } = await on.take('crm', { window: 1 });
      await on.settle(ref, { ...unavailable, retryAfterMs: MINUTE });
      on.clock.jump(MINUTE);
      await on.take('crm');
      await on.ledger.resume('crm');
      expect((await on.claim('crm')).refs).toEqual([]);
    });

    it('resume of a sink that was held and then paused sends a probe, too', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3]);
      const { ref } = await on.take('crm', { window: 1 });
      await on.settle(ref, { ...unavailable, retryAfterMs: HOUR });
      await on.ledger.pause('crm', 'maintenance');
      expect((await on.claim('crm')).refs).toEqual([]);
      await on.ledger.resume('crm');
      expect((await on.ledger.status()).sinks[0]?.health).toMatchObject({
        pausedSince: undefined,
        heldSince: expect.any(Date),
      });
      expect(await on.attemptAll('crm')).toHaveLength(1);
    });

    it('resume of a sink that recovers from a hold keeps its limit of concurrent batches', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 9));
      await on.attemptAll('crm', { ...unavailable, retryAfterMs: HOUR }, { window: 1 });
      for (const _ of ['the probe', 'once more, by another operator']) {
        await on.ledger.resume('crm');
        if ((await on.ledger.status()).sinks[0]?.health.heldSince) await on.attemptAll('crm');
      }
      expect((await on.claim('crm')).refs.length).toBeLessThan(8);
    });

    it('pause reports an unknown sink', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      expect(await on.ledger.pause('nobody', 'x')).toBe(false);
      expect(await on.ledger.resume('nobody')).toBe(false);
    });

    it('a sink whose destination is gone for good pauses by itself, and everything stays pending', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const { ref } = await on.take('crm', { window: 1 });
      await on.settle(ref, { ...unavailable, gone: true });
      expect((await on.claim('crm')).refs).toEqual([]);
      await on.ledger.resume('crm');
      expect((await on.attemptAll('crm')).flat().sort()).toEqual([1n, 2n]);
    });
  });

  it.each([
    ['an operator resumes the sink', (on: LedgerUnderTest) => on.ledger.resume('crm'), [2n]],
    [
      'the sink gets another address',
      (on: LedgerUnderTest) => on.declare(aSink('crm', { place: 'b' })),
      [2n],
    ],
    [
      'a start declares the same address',
      (on: LedgerUnderTest) => on.declare(aSink('crm', { place: 'a' })),
      [],
    ],
  ])(
    'the failure of an attempt counts only if the sink is the same as when it began: %s',
    async (_, renew, attempted) => {
      for (const failure of [{ gone: true }, { httpStatus: 429, retryAfterMs: HOUR }]) {
        const on = await LedgerUnderTest.with(store(), aSink('crm', { place: 'a' }));
        await on.list([1, 2]);
        const { ref } = await on.take('crm', { window: 1 });
        on.clock.jump(1_000);
        await renew(on);
        on.clock.jump(1_000);
        const outcomes = [{ ...unavailable, ...failure }];
        await on.ledger.settle(ref, { outcomes, startedAt: on.clock.in(-2_000), durationMs: 2_000 });
        expect((await on.attemptAll('crm')).flat()).toEqual(attempted);
      }
    },
  );

  describe('the queries of operators', () => {
    it('status counts deliveries for every sink', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', aSink('drop', { backfill: false }));
      await on.list([1, 2, 3]);
      const { ref } = await on.take('crm', { max: 3 });
      await on.settle(ref, delivered, refused, unavailable);
      const owedAt = on.clock.now();
      expect(await on.ledger.backlog()).toMatchObject([
        { sink: 'crm', pending: 1, dead: 1, oldestOwedAt: owedAt },
        { sink: 'drop', pending: 0, dead: 0, oldestOwedAt: undefined },
      ]);
      await on.declare('crm');
      const { sinks } = await on.ledger.status();
      expect(sinks).toMatchObject([
        { sink: 'crm', active: true, delivered: 1, skipped: 0 },
        { sink: 'drop', active: false, delivered: 0, skipped: 3 },
      ]);
    });

    it('lists come page by page, newest first', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3]);
      const first = await on.ledger.deliveries({}, { limit: 2 });
      expect(first.map((row) => row.lead)).toEqual(['3', '2']);
      const second = await on.ledger.deliveries({}, { limit: 2, before: first.at(-1)?.delivery });
      expect(second.map((row) => row.lead)).toEqual(['1']);
    });

    it('the trace of a lead lists everything that happened to it, in order', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      const { ref } = await on.take('crm', { max: 2 });
      await on.settle(ref, delivered, unavailable);
      on.clock.jump(5_000);
      await on.attemptAll('crm', { ...refused, answer: 'her name is Anna' });
      await on.list([1, changedLead(2, 'B')]);
      const trace = await on.ledger.trace(2n);
      expect(trace.map((entry) => entry.what)).toEqual([
        'listed',
        'owed',
        'unavailable',
        'changed',
        'owed',
        'refused',
        'dead',
        'pending',
      ]);
      expect(trace.map((entry) => entry.detail ?? '').join()).not.toContain('Anna');
      expect(trace.find((entry) => entry.what === 'refused')?.answer).toBe('her name is Anna');
      expect(await on.ledger.trace(2n, 'elsewhere')).toEqual([]);
      expect(await on.ledger.trace(99n)).toEqual([]);
    });

    it("a delivered lead's answer stays with its attempt if the sink stores it, until the lead is erased", async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.attemptAll('crm', { ...delivered, answer: '{"record":"Anna"}' });
      const answers = async () => (await on.ledger.trace(1n)).flatMap(({ answer }) => answer ?? []);
      expect(await answers()).toEqual(['{"record":"Anna"}']);
      await on.ledger.erase(await on.ledger.findPerson({ kind: 'lead', lead: 1n }), []);
      expect(await answers()).toEqual([]);
    });

    it("queries return a lead's text only where answers were requested", async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.attemptAll('crm', refused);
      const said = JSON.stringify([
        await on.ledger.status(),
        await on.ledger.deliveries({}, { limit: 9 }),
        await on.ledger.trace(1n),
      ]);
      expect(said).not.toMatch(/Anna|example\.com|151/);
    });
  });
}

async function idOf(on: LedgerUnderTest, lead: bigint): Promise<string | undefined> {
  return (await on.ledger.deliveries({ lead }, { limit: 1 }))[0]?.delivery;
}
