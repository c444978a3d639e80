import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RECENT_BATCHES } from '../../src/delivery/circuit-breaker.ts';
import { backOffMs, retryWaitMs } from '../../src/delivery/retry-policy.ts';
import { DEFAULT_BREAKER } from '../../src/leads/breaker-policy.ts';
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
  refusedBefore,
  SECOND,
  scheduleMs,
  times,
  untried,
} from './course.ts';

it('an endpoint that refuses erasure events still gets leads', () => {
  const course = new Course();
  const unknown = times(REFUSALS_BEFORE_HOLD + 1, anAttempt(refused, { ofErased: true }));
  expect(course.oneByOne(...unknown).health).toMatchObject({ heldSince: undefined, refusals: 0 });
  expect(course.oneByOne(...times(REFUSALS_BEFORE_HOLD, refused)).health.heldSince).toBeDefined();
});

it.each([
  ['fails for', down],
  ['answers 410 to', { ...down, httpStatus: 410, gone: true }],
])(
  'an endpoint that %s an erasure event still gets leads, and the event is given up in the end',
  (_, outcome) => {
    const course = new Course();
    const told = (attempts: number) => course.settle(anAttempt(outcome, { ofErased: true, attempts }));
    for (let attempts = 0; attempts < scheduleMs.length; attempts += 1)
      expect(told(attempts)).toMatchObject({
        health: HEALTHY,
        verdicts: [{ state: 'pending', attempts: attempts + 1 }],
      });
    expect(told(scheduleMs.length)).toMatchObject({ health: HEALTHY, verdicts: [{ state: 'dead' }] });
  },
);

it('an unreachable endpoint holds the sink, whatever the deliveries contain', () => {
  const course = new Course();
  const unreached = anAttempt({ ...down, httpStatus: undefined }, { ofErased: true });
  expect(
    course.oneByOne(...times(DEFAULT_BREAKER.consecutiveFailures, unreached)).health.heldSince,
  ).toBeDefined();
  course.toProbe();
  const probed = course.settle(anAttempt({ ...down, gone: true }, { ofErased: true }));
  expect(probed.health).toMatchObject({ heldSince: expect.any(Date), probes: 1, pausedSince: undefined });
  expect(probed.verdicts).toMatchObject([{ state: 'pending', attempts: 0 }]);
});

describe('a refused lead', () => {
  it('a single refused lead is dead immediately, with the answer as its reason', () => {
    const course = new Course();
    const { verdicts, health } = course.settle(delivered, refused, delivered);
    expect(verdicts.map((verdict) => verdict.state)).toEqual(['delivered', 'dead', 'delivered']);
    expect(verdicts[1]).toMatchObject({ attempts: 1, reason: 'It says no.' });
    expect(health).toMatchObject({ heldSince: undefined, refusals: 0 });
  });

  it.each([1, 2, 3, 4])('refusal number %i in a row kills the lead and does not hold the sink', (count) => {
    const course = new Course();
    const { verdicts, health } = course.oneByOne(...times(count, refused));
    expect(verdicts[0]?.state).toBe('dead');
    expect(health.heldSince).toBeUndefined();
  });

  it('the fifth refusal in a row holds the sink: the lead stays pending, and the four dead leads are owed again', () => {
    const course = new Course();
    const start = course.now;
    course.oneByOne(...times(REFUSALS_BEFORE_HOLD - 1, refused));
    const { verdicts, health, reviveSince } = course.oneByOne(refused);
    expect(verdicts[0]).toMatchObject({ state: 'pending', attempts: 0 });
    expect(health.heldSince).toEqual(course.now);
    expect(health.heldReason).toContain('refuses every lead');
    expect(reviveSince).toEqual(new Date(start.getTime() + 1));
  });

  it('five refusals in one batch hold the sink, and no lead dies', () => {
    const { verdicts, health } = new Course().settle(...times(5, refused));
    expect(verdicts.every((verdict) => verdict.state === 'pending' && verdict.attempts === 0)).toBe(true);
    expect(health.heldSince).toBeDefined();
  });

  it('five refusals in one batch together with an unavailable destination kill no lead', () => {
    const { verdicts, health } = new Course().settle(...times(5, refused), down);
    expect(verdicts.map((verdict) => verdict.state)).toEqual(times(6, 'pending'));
    expect(health.heldSince).toBeDefined();
  });

  it('five refusals in a batch with untried leads hold the sink, and the untried leads are due before the probe', () => {
    const course = new Course();
    const { verdicts, health } = course.settle(
      ...times(5, refused),
      anAttempt(untried, { attempts: 2, waitingSince: course.now }),
    );
    expect(health).toMatchObject({ heldSince: course.now, refusals: 5 });
    expect(verdicts.slice(0, 5)).toEqual(
      times(5, expect.objectContaining({ state: 'pending', attempts: 0, nextAttemptAt: health.probeAt })),
    );
    expect(verdicts[5]).toMatchObject({ state: 'pending', attempts: 2, nextAttemptAt: course.now });
  });

  it('repeated refusals use up no attempts of untried leads in the same batch, although others were delivered', () => {
    const course = new Course();
    course.settle(delivered);
    const { verdicts, health } = course.settle(...times(5, refusedBefore(course.now)), untried);
    expect(verdicts.map(({ attempts }) => attempts)).toEqual([...times(5, 1), 0]);
    expect(verdicts[5]).toMatchObject({ state: 'pending', nextAttemptAt: course.now });
    expect(health).toMatchObject({ heldSince: undefined });
  });

  it('refusals that end while the sink is held as unavailable count towards the row', () => {
    const course = new Course();
    course.oneByOne(...times(DEFAULT_BREAKER.consecutiveFailures, down));
    const since = course.ms + 1;
    expect(course.oneByOne(...times(4, refused)).verdicts[0]?.state).toBe('dead');
    const { verdicts, reviveSince } = course.oneByOne(refused);
    expect(verdicts[0]?.state).toBe('pending');
    expect(reviveSince).toEqual(new Date(since));
  });

  it('a delivered lead ends the row of refusals', () => {
    const course = new Course();
    course.oneByOne(...times(4, refused), delivered, ...times(4, refused));
    expect(course.health).toMatchObject({ heldSince: undefined, refusals: 4 });
  });

  it('a failure to reach the destination does not end the row of refusals', () => {
    const course = new Course();
    course.oneByOne(refused, refused, down, refused, refused, refused);
    expect(course.health.heldSince).toBeDefined();
  });

  it('while the sink is held for refusals, a refused lead stays pending and uses up no attempt', () => {
    const course = new Course();
    course.oneByOne(...times(5, refused));
    for (let probe = 0; probe < 10; probe += 1) {
      course.toProbe();
      const { verdicts, reviveSince } = course.settle(anAttempt(refused, { attempts: 3 }));
      expect(verdicts[0]).toMatchObject({
        state: 'pending',
        attempts: 3,
        nextAttemptAt: course.health.probeAt,
      });
      expect(reviveSince).toBeUndefined();
    }
    course.toProbe();
    expect(course.settle(delivered).health).toMatchObject({ heldSince: undefined, refusals: 0 });
  });

  it('a lead that is refused again after its sink had refused everything follows its schedule and does not hold the sink', () => {
    const course = new Course();
    const before = course.now;
    course.oneByOne(delivered);
    for (let lead = 0; lead < 8; lead += 1) {
      course.ms += 1;
      const { verdicts } = course.settle(refusedBefore(before));
      const nextAttemptAt = new Date(course.ms + 5 * SECOND);
      expect(verdicts[0]).toMatchObject({
        state: 'pending',
        attempts: 1,
        nextAttemptAt,
        reason: 'It says no.',
      });
    }
    expect(course.health).toMatchObject({ heldSince: undefined, refusals: 0 });
    const { verdicts } = course.settle(anAttempt(refused, { refusedAt: before, attempts: 3 }));
    expect(verdicts[0]).toMatchObject({ state: 'dead', attempts: 4 });
  });

  it('if a sink refuses everything, accepts one lead and refuses everything again, no lead dies either time', () => {
    const course = new Course();
    course.oneByOne(...times(5, refused));
    const since = course.now;
    course.toProbe();
    course.settle(delivered);
    for (const _ of times(5, 0))
      expect(course.settle(refusedBefore(since)).verdicts[0]?.state).toBe('pending');
    const { reviveSince } = course.oneByOne(...times(5, refused));
    expect(reviveSince).toBeDefined();
  });

  it('a lead that is refused again stays pending while the sink is held for refusals and has delivered nothing since', () => {
    const course = new Course();
    course.oneByOne(...times(5, refused));
    course.toProbe();
    expect(course.settle(refusedBefore(course.now)).verdicts[0]?.state).toBe('pending');
  });

  it('a refusal shows that the destination is available and ends a hold for being unavailable', () => {
    const course = new Course();
    course.oneByOne(...times(DEFAULT_BREAKER.consecutiveFailures, down));
    course.toProbe();
    const { health, verdicts } = course.settle(refused);
    expect(health).toMatchObject({ heldSince: undefined, refusals: 1 });
    expect(verdicts[0]?.state).toBe('dead');
  });
});

describe('waits between attempts', () => {
  it.each([
    [0, 4_000],
    [0.5, 5_000],
    [0.999999, 6_000],
  ])('the jitter spreads waits in both directions: %d', (random, waitMs) => {
    expect(retryWaitMs({ scheduleMs: [5_000], jitter: 0.2 }, 1, () => random)).toBe(waitMs);
    expect(backOffMs(0, 5_000, 60_000, () => random)).toBe(waitMs);
  });

  it('waits end with the schedule', () => {
    expect(retryWaitMs({ scheduleMs: [5_000], jitter: 0 }, 2, Math.random)).toBeUndefined();
    expect(retryWaitMs({ scheduleMs: [], jitter: 0 }, 1, Math.random)).toBeUndefined();
  });

  it('waits double up to their limit, however many failures there were', () => {
    const waits = [0, 1, 2, 3, 4, 50, 5_000].map((step) => backOffMs(step, 1_000, 60_000, () => 0.5));
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 60_000, 60_000]);
  });
});

describe('any sequence of answers from a sink', () => {
  const outcome = fc.oneof(
    fc.constant<Outcome>(delivered),
    fc.constant<Outcome>(refused),
    fc.constant<Outcome>(down),
    fc.constant<Outcome>(untried),
    fc.integer({ min: -1_000, max: 2 * HOUR }).map<Outcome>(asking),
  );
  const step = fc.record({
    outcomes: fc.array(outcome, { minLength: 1, maxLength: 7 }),
    passMs: fc.nat(MINUTE),
  });

  it('no delivery is lost, attempts never decrease, and each pending delivery has a time', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.nat(5), (steps, attempts) => {
        const course = new Course();
        for (const { outcomes, passMs } of steps) {
          course.ms += passMs;
          const { verdicts, health } = course.settle(...outcomes.map((one) => anAttempt(one, { attempts })));
          expect(verdicts).toHaveLength(outcomes.length);
          for (const [index, verdict] of verdicts.entries()) {
            expect(verdict.attempts).toBeGreaterThanOrEqual(attempts);
            if (outcomes[index]?.kind === 'delivered') expect(verdict.state).toBe('delivered');
            else expect(verdict.state).not.toBe('delivered');
            if (verdict.state === 'dead') expect(verdict.reason).toBeTruthy();
            if (verdict.state === 'pending')
              expect(verdict.nextAttemptAt?.getTime()).toBeGreaterThan(course.ms - 1);
          }
          expect(health.heldSince === undefined).toBe(health.probeAt === undefined);
          if (health.heldSince) expect(health.heldReason).toBeTruthy();
        }
      }),
    );
  });

  it('a successful probe makes the sink healthy again', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const course = new Course();
        for (const { outcomes, passMs } of steps) {
          course.ms += passMs;
          course.settle(...outcomes);
        }
        course.toProbe();
        expect(course.health.probeAt === undefined || course.waitMs <= 0).toBe(true);
        course.settle(delivered);
        const { recent, places } = course.health;
        expect(course.health).toEqual({ ...HEALTHY, recent, places, lastDeliveredAt: course.now });
        expect(recent.length).toBeLessThanOrEqual(RECENT_BATCHES);
        expect(recent).toMatch(/\+$/);
      }),
    );
  });
});
