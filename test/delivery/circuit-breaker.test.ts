import { describe, expect, it } from 'vitest';
import { MAX_EXCUSES, RECENT_BATCHES, SILENT_MS } from '../../src/delivery/circuit-breaker.ts';
import { EXCUSED_WAIT_MS, judgeBy } from '../../src/delivery/judge.ts';
import {
  DEFAULT_BREAKER,
  failuresToHold,
  JUDGED_BATCHES,
  MIN_CONCURRENT_BATCHES,
} from '../../src/leads/breaker-policy.ts';
import type { AttemptedDelivery, Verdict } from '../../src/leads/judgement.ts';
import type { Outcome } from '../../src/leads/outcome.ts';
import { HEALTHY, REFUSALS_BEFORE_HOLD } from '../../src/leads/sink-health.ts';
import {
  anAttempt,
  asking,
  Course,
  delivered,
  down,
  HOUR,
  MINUTE,
  refused,
  SECOND,
  scheduleMs,
  times,
  untried,
} from './course.ts';

describe('an unavailable destination', () => {
  it('its lead follows the retry schedule while others are delivered, and dies with the reason at its end', () => {
    const course = new Course();
    for (const [attempts, waitMs] of scheduleMs.entries()) {
      course.oneByOne(delivered);
      const { verdicts } = course.settle(anAttempt(down, { attempts }));
      expect(verdicts[0]).toEqual({
        state: 'pending',
        attempts: attempts + 1,
        excused: 0,
        nextAttemptAt: new Date(course.ms + waitMs),
        reason: 'It is down.',
      });
    }
    course.oneByOne(delivered);
    const { verdicts } = course.settle(anAttempt(down, { attempts: 3 }));
    expect(verdicts[0]).toMatchObject({ state: 'dead', attempts: 4, nextAttemptAt: undefined });
    expect(verdicts[0]?.reason).toContain('4 attempts: It is down.');
  });

  it(`its sink is held after ${DEFAULT_BREAKER.consecutiveFailures} failures in a row, not earlier`, () => {
    const course = new Course();
    expect(
      course.oneByOne(...times(DEFAULT_BREAKER.consecutiveFailures - 1, down)).health.heldSince,
    ).toBeUndefined();
    const { health, verdicts } = course.oneByOne(down);
    expect(health).toMatchObject({ heldSince: course.now, heldReason: 'It is down.', probes: 0 });
    expect(verdicts[0]).toMatchObject({ state: 'pending', attempts: 0, nextAttemptAt: health.probeAt });
  });

  it.each([
    ['failures in a row just after a success', SILENT_MS - 100, 9, false],
    ['failures in a row long after the last success', SILENT_MS, DEFAULT_BREAKER.consecutiveFailures, true],
    ['so many failures that recent successes do not count', 0, failuresToHold(DEFAULT_BREAKER), true],
    ['one failure less', 0, failuresToHold(DEFAULT_BREAKER) - 1, false],
  ])('its sink is judged by %s', (_, silentMs, failures, isHeld) => {
    const course = new Course();
    course.oneByOne(...times(RECENT_BATCHES, delivered));
    course.ms += silentMs;
    course.oneByOne(...times(failures, down));
    expect(course.health.heldSince !== undefined).toBe(isHeld);
  });

  it(`its sink is held when ${failuresToHold(DEFAULT_BREAKER)} of its last ${JUDGED_BATCHES} attempts failed, although some succeeded`, () => {
    const course = new Course();
    course.oneByOne(delivered, ...times(9, down), delivered, ...times(8, down));
    expect(course.health.heldSince).toBeUndefined();
    course.oneByOne(down);
    expect(course.health.heldSince).toEqual(course.now);
  });

  it('failures in a row hold its sink even if the clock was set back after a success', () => {
    const course = new Course();
    course.oneByOne(delivered);
    course.ms -= HOUR;
    course.oneByOne(...times(DEFAULT_BREAKER.consecutiveFailures, down));
    expect(course.health.heldSince).toEqual(course.now);
  });

  it("the sink's health remembers a bounded number of attempts", () => {
    const course = new Course();
    course.oneByOne(...times(3 * RECENT_BATCHES, delivered));
    expect(course.health.recent).toBe('+'.repeat(RECENT_BATCHES));
  });

  it('successes in between keep its sink from being held', () => {
    const course = new Course();
    course.oneByOne(down, down, delivered, down, down, delivered, down, down);
    expect(course.health.heldSince).toBeUndefined();
  });

  it('a whole batch counts as one attempt', () => {
    const { health, verdicts } = new Course().settle(...times(10, down));
    expect(health).toMatchObject({ recent: '-', heldSince: undefined });
    expect(verdicts).toEqual(times(10, verdicts[0]));
  });

  it('while no attempt succeeds, leads are retried soon and use up no attempts', () => {
    const course = new Course();
    course.oneByOne(delivered);
    course.ms += 1;
    const { verdicts } = course.settle(anAttempt(down, { attempts: 2, waitingSince: course.now }));
    const nextAttemptAt = new Date(course.ms + 5 * SECOND);
    expect(verdicts[0]).toEqual({
      state: 'pending',
      attempts: 2,
      excused: 1,
      nextAttemptAt,
      reason: 'It is down.',
    });
  });

  it('if it fails for one lead of a batch and accepts the others, that lead follows the schedule', () => {
    const { verdicts } = new Course().settle(delivered, anAttempt(down, { attempts: 1 }));
    expect(verdicts[1]).toMatchObject({ state: 'pending', attempts: 2 });
  });

  it('it is probed three times 5 s apart, then after 10, 20 and 40 s, then every minute; probes use up no attempts', () => {
    const course = new Course();
    course.oneByOne(...times(DEFAULT_BREAKER.consecutiveFailures, down));
    const waits = [course.waitMs];
    for (let probe = 0; probe < 200; probe += 1) {
      course.toProbe();
      const { verdicts } = course.settle(anAttempt(down, { attempts: 2 }));
      expect(verdicts[0]).toMatchObject({ state: 'pending', attempts: 2 });
      waits.push(course.waitMs);
    }
    expect(waits.slice(0, 7)).toEqual([5, 5, 5, 10, 20, 40, 60].map((wait) => wait * SECOND));
    expect(new Set(waits.slice(6))).toEqual(new Set([MINUTE]));
  });

  it('the first successful probe releases its sink, which then doubles its concurrency in each round', () => {
    const course = new Course();
    course.oneByOne(...times(DEFAULT_BREAKER.consecutiveFailures, down));
    course.toProbe();
    course.settle(delivered);
    const places = MIN_CONCURRENT_BATCHES;
    expect(course.health).toEqual({ ...HEALTHY, recent: '+', places, lastDeliveredAt: course.now });
    course.oneByOne(...times(places, delivered));
    expect(course.health.places).toBe(2 * places);
    course.oneByOne(down);
    expect(course.health).toMatchObject({ heldSince: undefined, places: 2 * places });
    course.oneByOne(...times(1_000, delivered));
    expect(course.health.places).toBeUndefined();
  });

  it('if it fails during recovery, its sink is held again and recovers from the start', () => {
    const course = new Course();
    course.oneByOne(...times(DEFAULT_BREAKER.consecutiveFailures, down));
    course.toProbe();
    course.oneByOne(...times(10, delivered));
    course.ms += SILENT_MS;
    course.oneByOne(...times(DEFAULT_BREAKER.consecutiveFailures, down));
    expect(course.health).toMatchObject({ heldSince: course.now, places: undefined, probes: 0 });
    course.toProbe();
    expect(course.settle(delivered).health.places).toBe(MIN_CONCURRENT_BATCHES);
  });

  it('attempts that were running when its sink was held neither release it nor slow down its probes', () => {
    const course = new Course();
    course.oneByOne(...times(DEFAULT_BREAKER.consecutiveFailures, down));
    const { heldSince, probeAt } = course.health;
    course.oneByOne(delivered, down, down, refused, delivered);
    expect(course.health).toMatchObject({ heldSince, probeAt, probes: 0 });
  });

  it('an attempt that began before the hold and ends after the probe was due neither releases its sink nor slows down its probes', () => {
    const course = new Course();
    const startedAt = course.now;
    course.oneByOne(...times(DEFAULT_BREAKER.consecutiveFailures, down));
    const { heldSince } = course.health;
    for (const outcome of [down, delivered, down, refused, down, down]) {
      course.toProbe();
      course.ms += 1;
      course.settle(anAttempt(outcome, { startedAt }));
      expect(course.health).toMatchObject({ heldSince, probes: 0 });
      expect(course.waitMs).toBe(0);
    }
    course.settle(anAttempt(down, { startedAt: course.now }));
    expect(course.health).toMatchObject({ heldSince, probes: 1 });
  });

  it('a probe releases its sink even if the clock was set back to before the hold', () => {
    const course = new Course();
    course.oneByOne(...times(DEFAULT_BREAKER.consecutiveFailures, down));
    course.toProbe();
    course.health = { ...course.health, heldSince: new Date(course.ms + HOUR) };
    course.settle(anAttempt(delivered, { startedAt: course.now }));
    expect(course.health.heldSince).toBeUndefined();
  });

  it.each([
    ['30 s', 30 * SECOND, 30 * SECOND],
    ['an hour', HOUR, HOUR],
    ['a year, capped at an hour', 365 * 24 * HOUR, HOUR],
    ['one second, less than the usual wait for a probe', SECOND, SECOND],
  ])('if it asks to wait %s, its sink is held immediately and for that time', (_, askedMs, waitMs) => {
    const course = new Course();
    const { verdicts } = course.settle(asking(askedMs));
    expect(course.waitMs).toBe(waitMs);
    expect(verdicts[0]).toMatchObject({
      state: 'pending',
      attempts: 0,
      nextAttemptAt: course.health.probeAt,
    });
  });

  it('its requests to wait are honoured until ten probes in a row have failed', () => {
    const course = new Course();
    course.settle(asking(SECOND));
    const waits = [course.waitMs];
    for (let probe = 0; probe < 11; probe += 1) {
      course.toProbe();
      course.settle(asking(SECOND));
      waits.push(course.waitMs);
    }
    expect(waits).toEqual([...times(10, 1), 10, 20].map((seconds) => seconds * SECOND));
  });

  it('after a request to wait, its sink resumes with half its concurrency; after an outage, with two places', () => {
    const course = new Course();
    for (const places of [8, 4]) {
      course.settle(asking(SECOND));
      course.toProbe();
      expect(course.settle(delivered).health).toMatchObject({ heldSince: undefined, places });
    }
    course.settle(asking(SECOND));
    course.toProbe();
    course.settle(down);
    course.toProbe();
    expect(course.settle(delivered).health.places).toBe(MIN_CONCURRENT_BATCHES);
  });

  it.each([[0], [-5 * SECOND]])('a request to wait %i ms is ignored', (askedMs) => {
    expect(new Course().settle(asking(askedMs)).health.heldSince).toBeUndefined();
  });

  it('a request to wait holds its sink although others of the same batch succeeded', () => {
    const course = new Course();
    const { verdicts } = course.settle(delivered, asking(30 * SECOND));
    expect(verdicts.map((verdict) => verdict.state)).toEqual(['delivered', 'pending']);
    expect(course.waitMs).toBe(30 * SECOND);
  });

  it('after a request to wait, the success of a running attempt does not bring the probe forward', () => {
    const course = new Course();
    course.settle(asking(10 * MINUTE));
    const { probeAt } = course.health;
    course.oneByOne(delivered, delivered);
    expect(course.health.probeAt).toEqual(probeAt);
  });

  it('a request for a longer wait extends the hold', () => {
    const course = new Course();
    course.settle(asking(MINUTE));
    course.settle(asking(10 * MINUTE));
    expect(course.waitMs).toBe(10 * MINUTE);
    course.settle(asking(MINUTE));
    expect(course.waitMs).toBe(10 * MINUTE);
  });

  it('if it is gone for good, its sink is paused until an operator resumes it, and the lead stays pending', () => {
    const course = new Course();
    const { verdicts } = course.settle({ ...down, reason: 'It is gone (410).', gone: true });
    expect(course.health).toMatchObject({ pausedSince: course.now, pausedReason: 'It is gone (410).' });
    expect(verdicts[0]).toMatchObject({ state: 'pending', attempts: 0 });
    const since = course.health.pausedSince;
    course.oneByOne({ ...down, gone: true });
    expect(course.health.pausedSince).toBe(since);
  });

  it('if it failed before the sink was resumed or got another address, the failure does not count', () => {
    const course = new Course();
    const startedAt = course.now;
    course.ms += MINUTE;
    course.health = { ...HEALTHY, renewedAt: course.now };
    course.ms += SECOND;
    for (const failure of [{ ...down, gone: true }, down, asking(HOUR), ...times(100, refused)])
      course.settle(anAttempt(failure, { startedAt }));
    expect(course.health).toEqual({ ...HEALTHY, renewedAt: course.health.renewedAt });
    course.settle(anAttempt(delivered, { startedAt }));
    expect(course.health.recent).toBe('+');
    course.settle(anAttempt({ ...down, gone: true }, { startedAt: course.now }));
    expect(course.health.pausedSince).toEqual(course.now);
  });

  it('it pauses its sink also if the clock was set back to before the resume', () => {
    const course = new Course();
    course.health = { ...HEALTHY, renewedAt: new Date(course.ms + HOUR) };
    course.settle(anAttempt({ ...down, gone: true }, { startedAt: course.now }));
    expect(course.health.pausedSince).toEqual(course.now);
  });

  it('the status of its answer is known while its sink is held, and is that of the last answer', () => {
    const course = new Course();
    course.oneByOne(...times(5, { ...down, httpStatus: 401 }));
    expect(course.health).toMatchObject({ heldSince: expect.any(Date), heldStatus: 401 });
    course.toProbe();
    expect(course.settle({ ...down, httpStatus: undefined }).health.heldStatus).toBeUndefined();
    course.toProbe();
    expect(course.settle({ ...down, httpStatus: 403 }).health.heldStatus).toBe(403);
    course.toProbe();
    expect(course.settle(delivered).health.heldStatus).toBeUndefined();
  });

  it('if a probe tried nothing, its sink stays held for the same reason', () => {
    const course = new Course();
    course.oneByOne(...times(REFUSALS_BEFORE_HOLD, refused));
    const { heldReason } = course.health;
    expect(heldReason).toContain('It says no.');
    course.toProbe();
    course.settle(untried);
    expect(course.health).toMatchObject({ heldReason, heldSince: expect.any(Date) });
  });

  it('a paused sink uses up no attempts', () => {
    const course = new Course();
    course.health = { ...HEALTHY, pausedSince: course.now, pausedReason: 'maintenance' };
    expect(course.settle(down).verdicts[0]).toMatchObject({ state: 'pending', attempts: 0 });
    expect(course.settle(delivered).verdicts[0]?.state).toBe('delivered');
    expect(course.health.pausedReason).toBe('maintenance');
  });
});

describe('a destination that fails at random', () => {
  /** A destination with a failure rate: attempts end one after another, 5 ms apart, each of another lead. */
  class Flaky {
    readonly course = new Course();
    readonly #random: () => number;
    readonly #rate: number;

    readonly #failure: Outcome;

    constructor(rate: number, seed: number, failure: Outcome = down) {
      this.#rate = rate;
      this.#failure = failure;
      this.#random = randomFrom(seed);
    }

    /** Attempts a due lead and returns the verdict. */
    attempt(lead: Partial<AttemptedDelivery> = {}): Verdict {
      const { course } = this;
      course.ms += 5;
      course.toProbe();
      const outcome = this.#random() < this.#rate ? this.#failure : delivered;
      const waitingSince = new Date(course.ms - SECOND);
      return course.settle(anAttempt(outcome, { waitingSince, ...lead })).verdicts[0] as Verdict;
    }
  }

  it.each([
    [0.1, 1],
    [0.2, 2],
    [0.3, 3],
    [0.5, 4],
  ])('a failure rate of %d rarely holds the sink', (rate, seed) => {
    const flaky = new Flaky(rate, seed);
    let [holds, wasHeld] = [0, false];
    for (let attempt = 0; attempt < 20_000; attempt += 1) {
      flaky.attempt();
      const isHeld = flaky.course.health.heldSince !== undefined;
      if (isHeld && !wasHeld) holds += 1;
      wasHeld = isHeld;
    }
    expect(holds).toBeLessThanOrEqual(rate < 0.5 ? 0 : 10);
  });

  it.each([
    [0.01, 5],
    [0.1, 6],
    [0.3, 7],
  ])(
    'at a failure rate of %d with a request to wait one second each time, sending uses all of the time in between',
    (rate, seed) => {
      const flaky = new Flaky(rate, seed, asking(SECOND));
      const [fromMs, attempts] = [flaky.course.ms, 5_000];
      let failures = 0;
      for (let attempt = 0; attempt < attempts; attempt += 1)
        if (flaky.attempt().state !== 'delivered') failures += 1;
      const allowedMs = attempts * 5 + failures * SECOND;
      expect(flaky.course.ms - fromMs).toBeLessThan(1.25 * allowedMs);
    },
  );

  it.each([
    [0.1, 11],
    [0.2, 12],
    [0.3, 13],
  ])('a failure rate of %d makes hardly any lead wait as if the failures were its own', (rate, seed) => {
    const flaky = new Flaky(rate, seed);
    for (let warmUp = 0; warmUp < RECENT_BATCHES; warmUp += 1) flaky.attempt();
    let late = 0;
    const leads = 10_000;
    for (let lead = 0; lead < leads; lead += 1) {
      let verdict = flaky.attempt();
      while (verdict.state === 'pending' && verdict.attempts < 2)
        verdict = flaky.attempt({ attempts: verdict.attempts, excused: verdict.excused });
      if (verdict.state === 'pending') late += 1;
    }
    expect(late).toBeLessThanOrEqual(leads / 1_000);
  });

  it('an excused lead is retried after a second, and the failure does not count as an attempt', () => {
    const course = new Course();
    course.oneByOne(...times(20, [delivered, down]).flat(), delivered);
    const { verdicts } = course.settle(anAttempt(down, { attempts: 2, excused: 1 }));
    const nextAttemptAt = new Date(course.ms + EXCUSED_WAIT_MS);
    expect(verdicts[0]).toEqual({
      state: 'pending',
      attempts: 2,
      excused: 2,
      nextAttemptAt,
      reason: 'It is down.',
    });
  });

  it.each([
    ['fails for no other lead', 0, 1],
    ['fails 10% of attempts', 0.1, 5],
    ['fails 30% of attempts', 0.3, 9],
    ['fails 80% of attempts', 0.8, MAX_EXCUSES + 1],
  ])(
    'a poison lead follows its schedule and dies, alone and without rapid retries, if the destination %s',
    (_, rate, tries) => {
      const flaky = new Flaky(rate, 21);
      for (let warmUp = 0; warmUp < RECENT_BATCHES; warmUp += 1) flaky.attempt();
      let poison = anAttempt(down);
      const waits: number[] = [];
      for (let attempt = 0; attempt < 30; attempt += 1) {
        flaky.course.oneByOne(delivered);
        flaky.course.ms += 1;
        const { course } = flaky;
        const verdict = course.settle(poison).verdicts[0] as Verdict;
        if (verdict.state === 'dead') {
          expect(verdict.reason).toContain('Given up after 4 attempts');
          expect(waits.filter((wait) => wait > EXCUSED_WAIT_MS)).toEqual(scheduleMs);
          expect(waits.length - scheduleMs.length).toBeLessThan(tries);
          expect(course.health.heldSince).toBeUndefined();
          return;
        }
        waits.push((verdict.nextAttemptAt?.getTime() ?? 0) - course.ms);
        poison = anAttempt(down, { attempts: verdict.attempts, excused: verdict.excused });
      }
      expect.unreachable('the poison lead never dies');
    },
  );

  it('without retries, no failure is excused', () => {
    const { verdicts } = judgeBy(
      () => ({ scheduleMs: [], jitter: 0 }),
      () => 0.5,
    )(
      'crm',
      { ...HEALTHY, recent: '+-'.repeat(20), lastDeliveredAt: new Date() },
      [anAttempt(down)],
      new Date(),
    );
    expect(verdicts[0]).toMatchObject({ state: 'dead', attempts: 1 });
  });
});

describe('a breaker with options of its own', () => {
  const policy = { failureRate: 0.5, consecutiveFailures: 3, maxProbeWaitMs: 8_000 };
  const judged = (recent: string, lastDeliveredAt?: Date, breaker = policy) => {
    const now = new Date('2026-11-20T10:00:00Z');
    const health = { ...HEALTHY, recent, lastDeliveredAt: lastDeliveredAt ?? now };
    const judge = judgeBy(
      () => ({ scheduleMs, jitter: 0, breaker }),
      () => 0.5,
    );
    return judge('crm', health, [anAttempt(down)], now).health;
  };

  it.each([
    [0.5, 9, true],
    [0.5, 8, false],
    [0.7, 13, true], // 0.7 × 20 is a little more than 14
    [0.7, 12, false],
    [1, 19, true],
    [1, 18, false],
  ])(
    'with the failure rate %s, one more failure after %s of 19 holds its sink: %s',
    (failureRate, failed, isHeld) => {
      const recent = `${'+'.repeat(60)}${'-'.repeat(failed)}${'+'.repeat(19 - failed)}`;
      expect(judged(recent, undefined, { ...policy, failureRate }).heldSince !== undefined).toBe(isHeld);
    },
  );

  it('holds a quiet sink after its own number of failures in a row', () => {
    const long = new Date('2026-11-20T09:00:00Z');
    expect(judged('+-', long).heldSince).toBeUndefined();
    expect(judged('+--', long).heldSince).toBeDefined();
  });

  it('never waits longer than its maximum between two probes, nor less before a first one that is shorter', () => {
    const now = new Date('2026-11-20T10:00:00Z');
    const probed = (probes: number, breaker = policy) => {
      const judge = judgeBy(
        () => ({ scheduleMs, jitter: 0, breaker }),
        () => 0.5,
      );
      const health = { ...HEALTHY, heldSince: new Date(0), probeAt: now, probes };
      return (judge('crm', health, [anAttempt(down)], now).health.probeAt?.getTime() ?? 0) - now.getTime();
    };
    expect([0, 2, 3, 20].map((probes) => probed(probes))).toEqual([5_000, 8_000, 8_000, 8_000]);
    expect(probed(0, { ...policy, maxProbeWaitMs: 1_000 })).toBe(1_000);
  });
});

/** Returns a generator of numbers from 0 to 1; the same seed produces the same sequence (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
