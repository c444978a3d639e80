import { describe, expect, test } from 'vitest';
import { ArrivalModel } from '../../src/alerts/arrival-model.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** A Monday, 00:00 in the process's time zone. */
const MONDAY = new Date(2026, 8, 7).getTime();

/** A generator that gives the same numbers for the same seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

function poisson(mean: number, random: () => number): number {
  const limit = Math.exp(-mean);
  let n = 0;
  for (let product = random(); product > limit; product *= random()) n += 1;
  return n;
}

/** Leads an hour on working days from 8 to 18, and none otherwise, over so many weeks. */
function history(weeks: number, perHour: number, seed = 1, bunch = 1): ArrivalModel {
  const random = seeded(seed);
  const arrivals = new ArrivalModel();
  for (let hour = 0; hour < weeks * 168; hour += 1) {
    const date = new Date(MONDAY + hour * HOUR);
    const works = date.getDay() >= 1 && date.getDay() <= 5 && date.getHours() >= 8 && date.getHours() < 18;
    arrivals.add([{ hour: date, leads: works ? bunch * poisson(perHour / bunch, random) : 0 }]);
  }
  return arrivals;
}

/** How likely no lead is from an hour of a day after the history, for so many hours. */
function none(arrivals: ArrivalModel, weeks: number, day: number, hour: number, hours: number): number {
  const from = MONDAY + weeks * 7 * DAY + day * DAY + hour * HOUR;
  return arrivals.probabilityOfNone(new Date(from), new Date(from + hours * HOUR));
}

const [TUESDAY, FRIDAY, SATURDAY] = [1, 4, 5];

describe('the history of arrivals', () => {
  test('finds hours without a lead implausible if there always were some', () => {
    const arrivals = history(8, 10);
    expect(none(arrivals, 8, TUESDAY, 9, 0.1)).toBeGreaterThan(0.2);
    expect(none(arrivals, 8, TUESDAY, 9, 2)).toBeLessThan(0.001);
  });

  test('expects no leads at night and on weekends, however busy the days are', () => {
    const arrivals = history(8, 100);
    expect(none(arrivals, 8, SATURDAY, 0, 48)).toBeGreaterThan(0.9);
    expect(none(arrivals, 8, TUESDAY, 19, 12)).toBeGreaterThan(0.9);
    // Over the weekend, and then on into Monday's work.
    expect(none(arrivals, 8, FRIDAY, 20, 60)).toBeGreaterThan(0.5);
    expect(none(arrivals, 8, FRIDAY, 20, 66)).toBeLessThan(0.001);
  });

  test('finds a long silence plausible for a source that rarely has a lead', () => {
    const arrivals = history(8, 0.1);
    expect(none(arrivals, 8, TUESDAY, 8, 10)).toBeGreaterThan(0.1);
  });

  test('returns 1 until it has three weeks of data', () => {
    expect(none(history(2, 100), 2, TUESDAY, 9, 8)).toBe(1);
    expect(none(history(4, 100), 4, TUESDAY, 9, 8)).toBeLessThan(0.001);
    expect(none(new ArrivalModel(), 0, TUESDAY, 9, 1000)).toBe(1);
  });

  test('waits longer if leads arrive in groups', () => {
    const [single, bunched] = [history(8, 4), history(8, 4, 1, 20)];
    expect(none(bunched, 8, TUESDAY, 9, 3)).toBeGreaterThan(20 * none(single, 8, TUESDAY, 9, 3));
  });

  test('ignores one hour with many leads, such as a first listing', () => {
    const arrivals = history(8, 0);
    arrivals.add([{ hour: new Date(MONDAY + 3 * 7 * DAY + TUESDAY * DAY + 9 * HOUR), leads: 5_000 }]);
    expect(none(arrivals, 8, TUESDAY, 9, 1)).toBeGreaterThan(0.1);
  });

  test('learns only from the time before the silence', () => {
    const [before, during] = [history(8, 1), history(8, 1)];
    for (let hour = 0; hour < 300; hour += 1)
      during.add([{ hour: new Date(MONDAY + (8 * 168 + hour) * HOUR), leads: 0 }]);
    expect(none(during, 8, 0, 0, 60)).toBe(none(before, 8, 0, 0, 60));
    expect(none(before, 8, 0, 0, 60)).toBeLessThan(1e-3);
  });

  test('calls about as few gaps of the same source silent as its probability says', () => {
    const random = seeded(7);
    let implausible = 0;
    const gaps = 3_000;
    const arrivals = history(8, 2, 3);
    for (let i = 0; i < gaps; i += 1) {
      const gap = -Math.log(1 - random()) / 2; // hours, at two leads an hour
      if (gap < 9 && none(arrivals, 8, TUESDAY, 8.5, gap) < 0.001) implausible += 1;
    }
    expect(implausible).toBeLessThan(gaps * 0.005);
  });
});
