import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/leads/outcome.ts';
import {
  aNewLead,
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

const answered: Outcome = { kind: 'delivered', httpStatus: 200 };
const DAY = 24 * HOUR;

/** Registers the tests of what every ledger promises about the activity of a sink. */
export function sinkActivityContract(store: () => OpenLedger): void {
  const activityOf = async (on: LedgerUnderTest, sink = 'crm', periodMs = HOUR) => {
    const request = { now: on.clock.now(), periodMs, stepMs: periodMs / 6 };
    const activity = await on.ledger.sinkActivity(sink, request);
    if (!activity) throw new Error('there is no such sink');
    return activity;
  };

  describe('the activity of a sink', () => {
    it('counts attempts by outcome, status and reason, and not those of other sinks or before the period', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list(ids(1, 3));
      await on.attemptAll('crm', answered);
      on.clock.jump(2 * HOUR);
      await on.list(ids(1, 9));
      await on.attemptAll('drop', delivered);
      await on.attemptAll('crm', answered, { window: 3 });
      await on.attemptAll('crm', refused, { window: 2 });
      await on.attemptAll('crm', unavailable, { window: 1 });
      const { total, outcomes, errors, series, since, countedFrom } = await activityOf(on);
      expect(total).toMatchObject({ delivered: 3, refused: 2, unavailable: 1 });
      expect(outcomes).toEqual([
        { outcome: 'delivered', httpStatus: 200, attempts: 3 },
        { outcome: 'refused', httpStatus: 422, attempts: 2 },
        { outcome: 'unavailable', httpStatus: 503, attempts: 1 },
      ]);
      expect(errors).toEqual([
        { reason: 'It says no.', attempts: 2 },
        { reason: 'It is down.', attempts: 1 },
      ]);
      expect(series).toHaveLength(6);
      expect(series.map((part) => part.delivered + part.refused + part.unavailable)).toEqual([
        ...Array(5).fill(0),
        6,
      ]);
      expect(since).toEqual(on.clock.in(10 * MINUTE - HOUR));
      expect(countedFrom).toEqual(on.clock.in(-2 * HOUR));
      expect((await activityOf(on, 'crm', DAY)).total).toMatchObject({ delivered: 6 });
    });

    it('knows how long batches took, each counted once, within 5%', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 40));
      for (const [durationMs, max] of [
        [100, 20],
        [1_000, 10],
        [8_000, 10],
      ] as const) {
        const { ref, batch } = await on.take('crm', { window: 1, max });
        const outcomes = batch.deliveries.map(() => delivered);
        await on.ledger.settle(ref, { outcomes, startedAt: on.clock.in(-durationMs), durationMs });
      }
      const { p50 = 0, p95 = 0 } = (await activityOf(on)).total.duration ?? {};
      expect(p50 / 1_000).toBeCloseTo(1, 1);
      expect(p95 / 8_000).toBeCloseTo(1, 1);
    });

    it('shows the last attempts, newest first, although other sinks made thousands since', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list(ids(1, 4));
      await on.attemptAll('crm', answered, { window: 2 });
      await on.attemptAll('crm', refused, { window: 1 });
      on.clock.jump(HOUR);
      await on.list(ids(1, 21_000));
      await on.attemptAll('drop', delivered, { window: 3, max: 10_000 });
      const { recent } = await activityOf(on);
      expect(recent.map(({ lead, outcome }) => `${lead} ${outcome}`)).toEqual([
        '3 refused',
        '2 delivered',
        '1 delivered',
      ]);
      expect(recent[0]).toMatchObject({ source: 'main', httpStatus: 422, error: 'It says no.', times: 1 });
      const others = (await activityOf(on, 'drop')).recent;
      expect(others.map(({ lead }) => Number(lead))).toEqual(ids(20_951, 21_000).reverse());
    });

    it('shows the last failed attempts, newest first, although the sink delivered hundreds since', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list(ids(1, 4));
      await on.attemptAll('drop', refused, { window: 4 });
      await on.attemptAll('crm', refused, { window: 2 });
      await on.attemptAll('crm', answered);
      on.clock.jump(HOUR);
      await on.list(ids(1, 100));
      await on.attemptAll('crm', answered, { window: 3, max: 100 });
      const { recent, recentFailed } = await activityOf(on);
      expect(recent.filter(({ outcome }) => outcome !== 'delivered')).toEqual([]);
      expect(recentFailed.map(({ lead, outcome }) => `${lead} ${outcome}`)).toEqual([
        '2 refused',
        '1 refused',
      ]);
      expect(recentFailed[0]).toMatchObject({ source: 'main', httpStatus: 422, error: 'It says no.' });
    });

    it('counts what is pending by age, and what is dead or failed by reason', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 3));
      await on.attemptAll('crm', refused, { window: 2 });
      await on.attemptAll('crm', unavailable);
      on.clock.jump(2 * DAY);
      await on.list(ids(1, 8));
      on.clock.jump(2 * MINUTE);
      await on.list(ids(1, 9));
      const { backlog, reasons, hasMoreReasons } = await activityOf(on);
      expect(backlog.map(({ fromMs, deliveries }) => [fromMs / MINUTE, deliveries])).toEqual([
        [0, 1],
        [1, 5],
        [10, 0],
        [60, 0],
        [360, 0],
        [1440, 1],
      ]);
      expect(reasons).toEqual([
        { state: 'dead', reason: 'It says no.', deliveries: 2 },
        { state: 'pending', reason: 'It is down.', deliveries: 1 },
      ]);
      expect(hasMoreReasons).toBe(false);
    });

    it('groups what is dead or failed by reason over all sinks, most frequent first', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop', 'mirror');
      expect(await on.ledger.failureReasons()).toEqual({ reasons: [], others: 0, isComplete: true });
      await on.list(ids(1, 4));
      await on.attemptAll('crm', refused, { window: 1 });
      await on.attemptAll('drop', refused, { window: 3 });
      await on.attemptAll('drop', unavailable, { window: 1 });
      await on.attemptAll('mirror', delivered);
      const dead = [
        { sink: 'drop', deliveries: 3 },
        { sink: 'crm', deliveries: 1 },
      ];
      const pending = [{ sink: 'drop', deliveries: 1 }];
      expect(await on.ledger.failureReasons()).toEqual({
        reasons: [
          { state: 'dead', reason: 'It says no.', deliveries: 4, sinks: dead },
          { state: 'pending', reason: 'It is down.', deliveries: 1, sinks: pending },
        ],
        others: 0,
        isComplete: true,
      });
    });

    it('distinguishes a limited number of reasons, and forgets what is older than a week and a day', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 60));
      for (let n = 1; n <= 20; n += 1) {
        await on.attemptAll('crm', { ...refused, reason: `No ${n}.` }, { window: 1 });
        await on.attemptAll('crm', delivered, { window: 1 }); // otherwise its refusals would hold the sink
      }
      const { errors, total } = await activityOf(on);
      expect(errors).toHaveLength(11);
      expect(errors[0]).toEqual({ reason: undefined, attempts: total.refused - 10 });
      on.clock.jump(9 * DAY);
      await on.attemptAll('crm', delivered, { window: 1 });
      expect((await activityOf(on)).countedFrom).toEqual(on.clock.now());
    });

    it('keeps when it was held and paused, why, and until when; holds within a minute are one', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list(ids(1, 20));
      const start = on.clock.now();
      const hold = async () => {
        await on.attemptAll('crm', { ...unavailable, retryAfterMs: 1_000 }, { window: 1 });
        on.clock.jump(1_000);
        await on.attemptAll('crm', delivered, { window: 1 });
      };
      await hold();
      on.clock.jump(10_000);
      await hold();
      on.clock.jump(HOUR);
      await on.ledger.pause('crm', 'moving house');
      on.clock.jump(MINUTE);
      await on.ledger.resume('crm');
      on.clock.jump(HOUR);
      await on.attemptAll('crm', { ...unavailable, retryAfterMs: 1_000 }, { window: 1 });
      const [last, pause, first, ...more] = (await activityOf(on)).holds;
      expect(more).toEqual([]);
      expect(first).toEqual({
        kind: 'held',
        since: start,
        until: new Date(start.getTime() + 12_000),
        times: 2,
        reason: 'It is down.',
      });
      expect(pause).toMatchObject({ kind: 'paused', times: 1, reason: 'moving house' });
      expect(pause?.until?.getTime()).toBe((pause?.since.getTime() ?? 0) + MINUTE);
      expect(last).toMatchObject({ kind: 'held', since: on.clock.now(), until: undefined });
    });

    it('measures how fast the leads that were first seen in the period were delivered to this sink', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list([]);
      on.clock.jump(MINUTE);
      await on.list([aNewLead(on, 1)]);
      on.clock.jump(MINUTE);
      await on.attemptAll('crm');
      on.clock.jump(2 * HOUR);
      await on.list([aNewLead(on, 1), aNewLead(on, 2)]);
      on.clock.jump(1_000);
      await on.attemptAll('crm');
      await on.attemptAll('drop');
      const speedOf = async (sink: string, periodMs: number) =>
        (await on.ledger.sinkActivity(sink, { now: on.clock.now(), periodMs, stepMs: HOUR }))?.speed;
      expect(await speedOf('crm', HOUR)).toMatchObject({
        sink: 'crm',
        leads: 1,
        seenToDelivered: { p50: 1_000 },
      });
      expect(await speedOf('crm', 24 * HOUR)).toMatchObject({
        leads: 2,
        seenToDelivered: { p50: 1_000, p95: MINUTE },
      });
      expect(await speedOf('drop', HOUR)).toMatchObject({ sink: 'drop', leads: 1 });
    });

    it('a late settlement does not count, and neither does a lead that is left out', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2]);
      await on.attemptAll('crm', { kind: 'left-out', reason: 'left out by `where` of crm' }, { window: 1 });
      const { ref } = await on.take('crm');
      on.clock.jump(2 * MINUTE);
      await on.take('crm');
      await on.settle(ref, answered);
      expect((await activityOf(on)).outcomes).toEqual([]);
      expect(
        await on.ledger.sinkActivity('nobody', { now: on.clock.now(), periodMs: HOUR, stepMs: HOUR }),
      ).toBe(undefined);
    });

    it('survives a changed content, which moves the delivery and not its attempts', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1]);
      await on.attemptAll('crm', unavailable);
      await on.list([changedLead(1, 'B')]);
      expect(
        (await on.again().ledger.sinkActivity('crm', { now: on.clock.now(), periodMs: HOUR, stepMs: HOUR }))
          ?.total,
      ).toMatchObject({ delivered: 0, unavailable: 1 });
    });
  });
}
