import { once } from 'node:events';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { watchClock } from '../../../src/daemon/watching/watch-clock.ts';
import type { Batch } from '../../../src/leads/delivery.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import { LedgerError } from '../../../src/ledger/contract/ledger-error.ts';
import { attemptParts } from '../../../src/sinks/attempt-parts.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { rest } from '../../support/time/held-clock.ts';
import { Bench, HOUR, MINUTE, SECOND } from './bench.ts';
import { always, delivering, failing, hanging, refusing } from './fakes.ts';

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
/** Refuses every lead whose id can be divided by three. */
const refusingThirds = (batch: Batch) =>
  batch.deliveries.map(
    ({ leadId }): Outcome =>
      leadId % 3n === 0n
        ? { kind: 'refused', reason: 'It says no.', httpStatus: 422 }
        : { kind: 'delivered' },
  );
const leads = (...ids: number[]) => ids.map((id) => [BigInt(id)]);

describe('from ledger to sink', () => {
  it('a new lead is attempted immediately, and delivered', async () => {
    const bench = await Bench.open();
    bench.leadFields = { created_at: bench.clock.now().toISOString() };
    await bench.list(1);
    expect(bench.sink.attempts).toEqual(leads(1));
    expect(await bench.states()).toEqual(['delivered']);
    expect(bench.reported.of('batch-settled')).toMatchObject([
      { sink: 'crm', delivered: 1, secondsToDelivery: [0] },
    ]);
  });

  it('a replay does not count in the delivery times of leads', async () => {
    const bench = await Bench.open();
    bench.leadFields = { created_at: bench.clock.now().toISOString() };
    await bench.list(1);
    await bench.clock.pass(MINUTE);
    await bench.ledger.replay('crm', { source: 'main', lead: 1n });
    await bench.clock.pass(MINUTE);
    expect(bench.sink.attempts).toEqual(leads(1, 1));
    const settled = bench.reported.of('batch-settled');
    expect(settled.map(({ secondsToDelivery }) => secondsToDelivery)).toEqual([[0], []]);
  });

  it('leads are attempted in order of age, within the concurrency of the sink', async () => {
    const bench = await Bench.open({ concurrency: 3 });
    let [underWay, most] = [0, 0];
    bench.sink.answer = async (batch) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await bench.clock.sleep(SECOND);
      underWay -= 1;
      return batch.deliveries.map(() => ({ kind: 'delivered' }));
    };
    await bench.list(...Array.from({ length: 30 }, (_, index) => index + 1));
    await bench.clock.pass(15 * SECOND);
    expect(most).toBe(3);
    expect(bench.sink.attempts.flat()).toEqual(Array.from({ length: 30 }, (_, index) => BigInt(index + 1)));
  });

  it('a batch waits until it is full or its oldest lead has waited long enough', async () => {
    const bench = await Bench.open({ max: 3, waitMs: 5 * MINUTE });
    await bench.list(1, 2);
    await bench.clock.pass(4 * MINUTE);
    expect(bench.sink.attempts).toEqual([]);
    await bench.list(3, 4);
    expect(bench.sink.attempts).toEqual([[1n, 2n, 3n]]);
    await bench.clock.pass(5 * MINUTE);
    expect(bench.sink.attempts).toEqual([[1n, 2n, 3n], [4n]]);
  });

  it('a batch that the last process had claimed and not begun is attempted immediately', async () => {
    const bench = await Bench.open({
      before: async (ledger) => {
        const poll = await ledger.startPoll('main');
        await ledger.record(poll, [aListedLead({ id: 1 })]);
        await ledger.claim({ sink: 'crm', window: 1, max: 1, waitMs: 0, leaseMs: 10 * MINUTE });
      },
    });
    await bench.clock.pass(1);
    expect(bench.sink.attempts).toEqual(leads(1));
  });

  it('the dispatch loop does not spin while the sink is slow and more is due', async () => {
    const bench = await Bench.open({ concurrency: 1, budgetMs: HOUR });
    bench.sink.answer = hanging;
    await bench.list(1, 2, 3, 4);
    const before = bench.claims;
    await bench.clock.pass(10 * MINUTE);
    // Once every 5 s, to offer again what a carrier may have lost.
    expect(bench.claims - before).toBeLessThanOrEqual(130);
  });

  it('the dispatch loop does not spin while a probe is in progress', async () => {
    const bench = await Bench.open({ budgetMs: HOUR });
    bench.sink.answer = always({ kind: 'unavailable', reason: 'Wait.', retryAfterMs: 1 });
    await bench.list(1, 2, 3);
    bench.sink.answer = hanging;
    await bench.clock.pass(10 * SECOND);
    const before = bench.claims;
    await bench.clock.pass(10 * MINUTE);
    expect(bench.claims - before).toBeLessThanOrEqual(130);
  });
});

/** Lets the sink halve batches for a destination that takes a part only when it takes each lead of it. */
function inParts(bench: Bench, takes: (lead: bigint) => boolean): { requests: number } {
  const asked = { requests: 0 };
  bench.sink.answer = ({ deliveries }) =>
    attemptParts([deliveries], async (part) => {
      asked.requests += 1;
      if (part.every(({ leadId }) => takes(leadId))) return { kind: 'delivered' };
      return { kind: 'refused', reason: 'It says no.', httpStatus: 422 };
    });
  return asked;
}

describe('a destination that fails', () => {
  it('for one lead while others arrive gets that lead by the schedule, until it is dead', async () => {
    const bench = await Bench.open();
    bench.sink.answer = (batch) => (batch.deliveries[0]?.leadId === 1n ? failing : delivering)(batch);
    const tries: number[] = [];
    const startMs = bench.clock.passedMs;
    await bench.list(1);
    for (let minute = 0; minute < 12; minute += 1) {
      for (let part = 0; part < 6; part += 1) {
        await bench.list(2 + minute * 6 + part);
        await bench.clock.pass(10 * SECOND);
        const count = bench.sink.attempts.filter(([lead]) => lead === 1n).length;
        while (tries.length < count) tries.push(bench.clock.passedMs - startMs);
      }
    }
    // The first two failures do not count, because no other lead had arrived by then.
    expect(tries).toEqual([10, 10, 10, 20, 320].map((seconds) => seconds * SECOND));
    const [row] = await bench.ledger.deliveries({ lead: 1n }, { limit: 1 });
    expect(row).toMatchObject({ state: 'dead', attempts: 3, reason: expect.stringContaining('It is down.') });
    expect(bench.reported.of('delivery-dead')).toMatchObject([{ lead: '1', attempts: 3 }]);
    const dead = bench.reported.of('batch-settled').map((event) => event.dead.unavailable);
    expect(dead.reduce((sum, one) => sum + one, 0)).toBe(1);
    expect(bench.reported.of('sink-held')).toEqual([]);
  });

  it('for every lead is held and probed once a minute for five days; every lead arrives when it is back', async () => {
    const bench = await Bench.open();
    bench.sink.answer = failing;
    await bench.list(1, 2, 3, 4, 5);
    await bench.clock.pass(MINUTE);
    expect(bench.reported.of('sink-held')).toHaveLength(1);
    const before = bench.sink.attempts.length;
    await bench.clock.pass(HOUR);
    const probes = bench.sink.attempts.length - before;
    expect(probes).toBeGreaterThan(50);
    expect(probes).toBeLessThan(70);
    bench.clock.jump(5 * 24 * HOUR);
    await bench.clock.pass(2 * MINUTE);
    expect(await bench.states()).toEqual(Array(5).fill('pending'));
    expect((await bench.ledger.deliveries({}, { limit: 9 })).every((row) => row.attempts <= 2)).toBe(true);
    bench.sink.answer = delivering;
    await bench.clock.pass(2 * MINUTE);
    expect(await bench.states()).toEqual(Array(5).fill('delivered'));
    expect(bench.reported.of('sink-recovered')).toHaveLength(1);
    expect(await bench.health()).toMatchObject({
      heldSince: undefined,
      recent: expect.stringMatching(/^\++$/),
    });
  });

  it('by refusing every lead makes none dead', async () => {
    const bench = await Bench.open({ concurrency: 1 });
    bench.sink.answer = refusing;
    await bench.list(1, 2, 3, 4, 5, 6, 7);
    await bench.clock.pass(HOUR);
    expect(await bench.states()).toEqual(Array(7).fill('pending'));
    bench.sink.answer = delivering;
    await bench.clock.pass(3 * MINUTE);
    expect(await bench.states()).toEqual(Array(7).fill('delivered'));
  });

  it('by refusing every lead of a big batch gets few requests, and makes no lead dead', async () => {
    const bench = await Bench.open({ max: 500, waitMs: SECOND, concurrency: 1 });
    const asked = inParts(bench, () => false);
    await bench.list(...upTo(500));
    await bench.clock.pass(SECOND);
    expect(asked.requests).toBeLessThan(50);
    expect(await bench.health()).toMatchObject({ heldSince: expect.any(Date), refusals: 5 });
    await bench.clock.pass(HOUR);
    expect(asked.requests).toBeLessThan(130); // one lead a probe
    const rows = await bench.ledger.deliveries({}, { limit: 1_000 });
    expect(new Set(rows.map(({ state, attempts }) => `${state} ${attempts}`))).toEqual(
      new Set(['pending 0']),
    );
    bench.sink.answer = delivering;
    // The probes so far are batches of one lead each, and go out first.
    for (let second = 0; second < 180; second += 1) await bench.clock.pass(SECOND);
    expect(new Set(await bench.states())).toEqual(new Set(['delivered']));
  });

  it('by refusing most leads of a batch, and at first all that it gets, delays the others by only a few probes', async () => {
    const bench = await Bench.open({ max: 100, waitMs: SECOND, concurrency: 1 });
    inParts(bench, (lead) => lead % 5n === 0n);
    await bench.list(...upTo(100));
    await bench.clock.pass(SECOND);
    expect(bench.reported.of('sink-held')).toHaveLength(1);
    await bench.clock.pass(10 * MINUTE);
    const rows = await bench.ledger.deliveries({}, { limit: 1_000 });
    const arrived = rows.filter(({ state }) => state === 'delivered').map(({ lead }) => Number(lead));
    expect(arrived.sort((a, b) => a - b)).toEqual(upTo(100).filter((lead) => lead % 5 === 0));
    expect(await bench.health()).toMatchObject({ heldSince: undefined });
  });

  it('by refusing one lead makes that one dead immediately, and the others arrive', async () => {
    const bench = await Bench.open({ max: 10, waitMs: SECOND });
    bench.sink.answer = (batch) =>
      batch.deliveries.map(
        (delivery): Outcome =>
          delivery.leadId === 2n
            ? { kind: 'refused', reason: 'It says no.', answer: 'Anna Müller' }
            : { kind: 'delivered' },
      );
    await bench.list(1, 2, 3);
    await bench.clock.pass(SECOND);
    expect(await bench.states()).toEqual(['delivered', 'dead', 'delivered']);
    expect(bench.reported.of('delivery-refused')).toMatchObject([{ lead: '2', reason: 'It says no.' }]);
    const settled = bench.reported.of('batch-settled').map(({ refused, dead }) => ({ refused, dead }));
    expect(settled).toContainEqual({ refused: 1, dead: { refused: 1, unavailable: 0 } });
    expect(JSON.stringify(bench.reported.events)).not.toContain('Anna');
  });

  it('has its answers counted by class of status, without the leads that it did not get', async () => {
    const bench = await Bench.open({ max: 4, waitMs: SECOND });
    bench.sink.answer = (batch) =>
      batch.deliveries.map(({ leadId }): Outcome => {
        if (leadId === 1n) return { kind: 'delivered', httpStatus: 204 };
        if (leadId === 2n) return { kind: 'refused', reason: 'It says no.', httpStatus: 422 };
        if (leadId === 3n) return { kind: 'unavailable', reason: 'It is down.' };
        return batch.deliveries.length === 4 ? { kind: 'untried' } : { kind: 'delivered' };
      });
    await bench.list(1, 2, 3, 4);
    await bench.clock.pass(SECOND);
    const [settled] = bench.reported.of('batch-settled');
    expect(settled?.answers).toEqual({ '2xx': 1, '3xx': 0, '4xx': 1, '5xx': 0, none: 1 });
  });

  it('by refusing retried leads again is not held: other leads arrive immediately', async () => {
    const bench = await Bench.open();
    bench.sink.answer = refusingThirds;
    await bench.list(...upTo(20));
    for (let second = 0; second < 5; second += 1) await bench.clock.pass(SECOND);
    const before = await bench.states();
    expect(before.filter((state) => state === 'dead')).toHaveLength(6);
    expect(await bench.ledger.retry({ states: ['dead'] })).toBe(6);
    bench.wake.notify();
    for (let second = 0; second < 5; second += 1) await bench.clock.pass(SECOND);
    expect(await bench.states()).toEqual(before);
    await bench.list(22);
    expect((await bench.states()).at(-1)).toBe('delivered');
    expect(bench.reported.of('sink-held')).toEqual([]);
  });

  it('by refusing five new leads in a row is probed with a lead that it never refused, so that bad leads do not delay others for long', async () => {
    const bench = await Bench.open({ concurrency: 1 });
    bench.sink.answer = refusingThirds;
    await bench.list(3, 6, 9, 12, 15);
    await bench.clock.pass(SECOND);
    expect(bench.reported.of('sink-held')).toHaveLength(1);
    await bench.list(22);
    await bench.clock.pass(6 * SECOND);
    expect((await bench.states()).at(-1)).toBe('delivered');
    expect((await bench.health())?.heldSince).toBeUndefined();
  });

  it('and asks for a pause gets no attempt during it', async () => {
    const bench = await Bench.open();
    bench.sink.answer = always({
      kind: 'unavailable',
      reason: 'Too many.',
      httpStatus: 429,
      retryAfterMs: 10 * MINUTE,
    });
    await bench.list(1);
    bench.sink.answer = delivering;
    await bench.list(2);
    await bench.clock.pass(10 * MINUTE - SECOND);
    expect(bench.sink.attempts).toEqual(leads(1));
    await bench.clock.pass(2 * SECOND);
    expect(await bench.states()).toEqual(['delivered', 'delivered']);
  });

  it('for good pauses the sink until an operator resumes it', async () => {
    const bench = await Bench.open();
    bench.sink.answer = () => {
      throw new SinkUnavailable('It is gone (410).', { hint: '', gone: true });
    };
    await bench.list(1);
    await bench.clock.pass(24 * HOUR);
    expect(bench.sink.attempts).toHaveLength(1);
    expect(bench.reported.of('sink-paused')).toMatchObject([{ reason: 'It is gone (410).' }]);
    bench.sink.answer = delivering;
    await bench.ledger.resume('crm');
    await bench.clock.pass(6 * SECOND);
    expect(await bench.states()).toEqual(['delivered']);
  });
});

describe('a sink that misbehaves', () => {
  it.each<[string, unknown]>([
    ['too few outcomes', [{ kind: 'delivered' }]],
    ['too many outcomes', [{ kind: 'delivered' }, { kind: 'delivered' }, { kind: 'delivered' }]],
    ['invalid outcomes', [undefined, null]],
    ['no outcomes at all', undefined],
    ['a text', 'ok'],
  ])(
    'by returning %s delivers nothing, is held with the reason, and is tried again at the pace of a failure',
    async (_, answer) => {
      const bench = await Bench.open({ max: 2 });
      bench.sink.answer = () => answer as readonly Outcome[];
      await bench.list(1, 2);
      await bench.clock.pass(10 * MINUTE);
      expect(bench.sink.attempts.length).toBeGreaterThan(5);
      expect(bench.sink.attempts.length).toBeLessThan(30);
      expect(await bench.states()).toEqual(['pending', 'pending']);
      expect(bench.reported.of('sink-held')[0]?.reason).toMatch(/report/);
      bench.sink.answer = delivering;
      await bench.clock.pass(2 * MINUTE);
      expect(await bench.states()).toEqual(['delivered', 'delivered']);
    },
  );

  it.each<[string, unknown]>([
    ['an error with a lead in its text', new Error('Anna Müller')],
    ['a text', 'Anna Müller'],
    ['nothing', undefined],
    ['null', null],
    ['an object without a prototype', Object.create(null)],
    ['an error with an odd code', Object.assign(new Error('x'), { code: Symbol('x') })],
  ])('by throwing %s counts as unavailable, without the text of what it threw', async (_, thrown) => {
    const bench = await Bench.open();
    bench.sink.answer = () => {
      throw thrown;
    };
    await bench.list(1);
    expect(bench.reported.of('batch-settled')).toMatchObject([{ unavailable: 1 }]);
    expect(bench.reported.of('ledger-failed')).toEqual([]);
    expect(JSON.stringify(bench.reported.events)).not.toContain('Anna');
    expect(JSON.stringify(await bench.ledger.trace(1n))).not.toContain('Anna');
  });

  it('by never returning is aborted at its deadline and no longer awaited, so that other leads are attempted', async () => {
    const bench = await Bench.open({ concurrency: 1, budgetMs: 20 * SECOND });
    bench.sink.answer = (batch) => (batch.deliveries[0]?.leadId === 1n ? hanging : delivering)(batch);
    await bench.list(1, 2);
    await bench.clock.pass(19 * SECOND);
    expect(bench.sink.aborted).toBe(0);
    await bench.clock.pass(3 * SECOND);
    expect(bench.sink.aborted).toBeGreaterThan(0);
    expect(bench.sink.attempts).toContainEqual([2n]);
    const [row] = await bench.ledger.deliveries({ lead: 1n }, { limit: 1 });
    expect(row).toMatchObject({ state: 'pending', attempts: 0, reason: expect.stringContaining('20 s') });
  });
});

describe('a clock that is set back by a day', () => {
  it.each([
    ['while a sink is held', failing],
    ['while all is well', delivering],
  ])('%s delays no lead by that day', async (_, before) => {
    const bench = await Bench.open({ waitMs: 30 * SECOND, max: 10 });
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    void watchClock(bench.ledger, bench.clock, bench.reported.emit, stop.signal);
    bench.sink.answer = before;
    await bench.list(1, 2, 3);
    await bench.clock.pass(MINUTE);
    await bench.list(4, 5);
    bench.clock.setBack(24 * HOUR);
    bench.sink.answer = delivering;
    await bench.clock.pass(3 * MINUTE);
    const [crm] = await bench.ledger.backlog();
    expect(crm).toMatchObject({ pending: 0, dead: 0 });
    const [setBack, ...more] = bench.reported.of('clock-set-back');
    expect(Math.abs((setBack?.byMs ?? 0) - 24 * HOUR)).toBeLessThanOrEqual(1);
    expect(more).toEqual([]);
  });

  it.each([
    ['an hour', HOUR],
    ['an odd time', 47 * MINUTE + 12_345],
  ])(
    'by %s instead of a day shortens a wait of hours by as much, and delays no other lead',
    async (_, byMs) => {
      const bench = await Bench.open({ scheduleMs: [5 * HOUR] });
      const stop = new AbortController();
      onTestFinished(() => stop.abort());
      // One lead fails while another gets through, so it waits as its schedule says.
      const isDown = ({ deliveries }: Batch) => deliveries.some(({ leadId }) => leadId === 1n);
      bench.sink.answer = (batch) => (isDown(batch) ? failing : delivering)(batch);
      await bench.list(1);
      await bench.clock.pass(SECOND);
      await bench.list(2);
      await bench.clock.pass(2 * MINUTE);
      const [row] = await bench.ledger.deliveries({ lead: 1n }, { limit: 1 });
      expect(row).toMatchObject({ state: 'pending', attempts: 1 });
      const dueAt = row?.nextAttemptAt?.getTime() ?? Number.NaN;

      void watchClock(bench.ledger, bench.clock, bench.reported.emit, stop.signal);
      // The lead behind it waits for the probe of a sink that is held.
      bench.sink.answer = failing;
      await bench.list(3, 4, 5);
      await bench.clock.pass(7 * SECOND);
      bench.clock.setBack(byMs);
      bench.sink.answer = delivering;
      await bench.clock.pass(3 * MINUTE);

      expect(bench.reported.of('ledger-failed')).toEqual([]);
      expect(await bench.states()).toEqual([
        'pending',
        ...['delivered', 'delivered', 'delivered', 'delivered'],
      ]);
      const [waiting] = await bench.ledger.deliveries({ lead: 1n }, { limit: 1 });
      expect(Math.abs((waiting?.nextAttemptAt?.getTime() ?? 0) - (dueAt - byMs))).toBeLessThanOrEqual(1);
    },
  );

  it('is recorded later if the ledger cannot be written at that moment', async () => {
    const bench = await Bench.open({ scheduleMs: [MINUTE] });
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const unwritable = vi.spyOn(bench.ledger, 'clockWentBack');
    unwritable.mockRejectedValueOnce(new LedgerError('full', 'There is no room.', 'Free some space.'));
    void watchClock(bench.ledger, bench.clock, bench.reported.emit, stop.signal);
    bench.sink.answer = failing;
    await bench.list(1);
    bench.clock.setBack(24 * HOUR);
    await bench.clock.pass(SECOND);
    // By now a poll has begun at the new time, so the ledger no longer shows that the clock was set back.
    await bench.list(1);
    bench.sink.answer = delivering;
    await bench.clock.pass(3 * MINUTE);
    expect(await bench.states()).toEqual(['delivered']);
    expect(bench.reported.of('ledger-failed')).toHaveLength(1);
  });

  it('is recorded with growing pauses between attempts while the ledger rejects it', async () => {
    const bench = await Bench.open();
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const fault = new LedgerError('unexpected', 'It does not accept it.', 'Report it.');
    const told = vi.spyOn(bench.ledger, 'clockWentBack').mockRejectedValue(fault);
    void watchClock(bench.ledger, bench.clock, bench.reported.emit, stop.signal);
    await bench.clock.pass(SECOND);
    bench.clock.setBack(HOUR);
    await bench.clock.pass(HOUR);
    expect(told.mock.calls.length).toBeGreaterThan(5);
    expect(told.mock.calls.length).toBeLessThan(15);
    told.mockRestore();
    await bench.clock.pass(HOUR);
    expect(bench.reported.of('clock-set-back')).toHaveLength(1);
  });

  it('is recorded once by the next process if this one died between a poll and the check of the clock', async () => {
    const bench = await Bench.open({ scheduleMs: [MINUTE] });
    bench.sink.answer = failing;
    await bench.list(1);
    bench.clock.setBack(24 * HOUR);
    // This poll began at the new time, and no process has checked the clock yet.
    await bench.list(1);
    bench.sink.answer = delivering;
    for (let started = 0; started < 2; started += 1) {
      const stop = new AbortController();
      onTestFinished(() => stop.abort());
      void watchClock(bench.ledger, bench.clock, bench.reported.emit, stop.signal);
      await bench.clock.pass(1);
      stop.abort();
    }
    expect(bench.reported.of('clock-set-back')).toHaveLength(1);
    await bench.clock.pass(3 * MINUTE);
    expect(await bench.states()).toEqual(['delivered']);
  });
});

describe('a ledger whose disk is full', () => {
  it('while an attempt is settled is tried again, and the sink gets the lead once', async () => {
    const bench = await Bench.open({ budgetMs: MINUTE });
    bench.sink.answer = async (batch) => {
      bench.fillDisk();
      return batch.deliveries.map(() => ({
        kind: 'refused',
        reason: 'x'.repeat(200),
        answer: 'y'.repeat(9_000),
      }));
    };
    await bench.list(1);
    await bench.clock.pass(30 * SECOND);
    const failures = bench.reported.of('ledger-failed');
    expect(failures.length).toBeGreaterThan(3);
    expect(failures[0]).toMatchObject({
      reason: expect.stringContaining('no space'),
      hint: expect.stringMatching(/space/),
    });
    bench.makeRoom();
    await bench.clock.pass(SECOND);
    expect(bench.sink.attempts).toHaveLength(1);
    expect(await bench.states()).toEqual(['dead']);
  });
});

describe('stopping', () => {
  it('waits for running attempts, and starts no other', async () => {
    const bench = await Bench.open({ concurrency: 1 });
    bench.sink.answer = async (batch) => {
      await bench.clock.sleep(5 * SECOND);
      return batch.deliveries.map(() => ({ kind: 'delivered' }));
    };
    await bench.list(1, 2, 3);
    await bench.stop(25 * SECOND);
    expect(bench.sink.attempts).toEqual(leads(1));
    expect(await bench.states()).toEqual(['delivered', 'pending', 'pending']);
  });

  it('aborts hanging attempts after the grace period, records no outcome, and uses up no attempt of a lead', async () => {
    const bench = await Bench.open({ budgetMs: HOUR });
    bench.sink.answer = hanging;
    await bench.list(1);
    const startMs = bench.clock.monotonicMs();
    await bench.stop(25 * SECOND);
    expect(bench.clock.monotonicMs() - startMs).toBeLessThanOrEqual(28 * SECOND);
    expect(bench.sink.aborted).toBe(1);
    await rest();
    const [row] = await bench.ledger.deliveries({}, { limit: 1 });
    expect(row).toMatchObject({ state: 'pending', attempts: 0 });
    expect(bench.reported.of('batch-settled')).toEqual([]);
  });

  it.each([
    ['notices the abort', (_: unknown, signal: AbortSignal) => untilAborted(signal)],
    ['ignores the abort', hanging],
  ])(
    'while a sink hangs and %s returns its batch to the ledger, so that no number of restarts splits it',
    async (_, answer) => {
      const bench = await Bench.open({ budgetMs: HOUR, max: 3 });
      bench.sink.answer = answer;
      await bench.list(1, 2, 3);
      await bench.stop(SECOND);
      expect(await bench.ledger.holders()).toEqual([]);
      const claim = () => bench.ledger.claim({ sink: 'crm', window: 1, max: 3, waitMs: 0, leaseMs: MINUTE });
      const [ref] = (await claim()).refs;
      const batch = ref && (await bench.ledger.begin(ref, MINUTE))?.batch;
      expect(batch).toMatchObject({ id: bench.sink.batches[0]?.id });
      expect(batch?.deliveries).toHaveLength(3);
    },
  );

  it.each([
    ['was answered with an error', { kind: 'unavailable', reason: 'Down.', httpStatus: 503 }, null],
    ['was refused with others', { kind: 'untried' }, null],
    ['was never sent', { kind: 'unavailable', reason: 'No connection.', unsent: true }, 'B'],
  ] as const)(
    'after a request that %s makes the next attempt use the same mapping, or the new one if nothing was sent',
    async (_, outcome, mapping) => {
      const bench = await Bench.open({ budgetMs: HOUR });
      bench.sink.answer = async (_batch, signal) => {
        await once(signal, 'abort');
        return [outcome];
      };
      await bench.list(1);
      await bench.stop(SECOND);
      await bench.ledger.declareSinks([{ name: 'crm', events: ['created'], backfill: true, mapping: 'B' }]);
      const claimed = await bench.ledger.claim({
        sink: 'crm',
        window: 1,
        max: 1,
        waitMs: 0,
        leaseMs: MINUTE,
      });
      const [ref] = claimed.refs;
      const batch = ref && (await bench.ledger.begin(ref, MINUTE))?.batch;
      expect(batch?.deliveries.map(({ formerMapping = batch.mapping }) => formerMapping)).toEqual([mapping]);
    },
  );
});

async function untilAborted(signal: AbortSignal): Promise<never> {
  await once(signal, 'abort');
  throw new Error('aborted');
}
