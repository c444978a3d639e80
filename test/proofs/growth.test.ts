import { expect, test } from 'vitest';
import { growthOf } from './growth.ts';

const days = Array.from({ length: 200 }, (_, at) => at / 10);

test('memory that grows steadily is measured, whatever its peaks', () => {
  const samples = days.map((day, at) => ({ day, mb: 200 + 3 * day + (at % 20 === 0 ? 90 : 0) }));
  expect(growthOf(samples).mbPerDay).toBeCloseTo(3, 0);
});

test('memory that goes up and down does not grow', () => {
  const samples = days.map((day, at) => ({ day, mb: 200 + 20 * Math.sin(at) }));
  expect(Math.abs(growthOf(samples).mbPerDay)).toBeLessThan(0.5);
  expect(growthOf(samples)).toMatchObject({
    medianMb: expect.closeTo(200, -1),
    maxMb: expect.closeTo(220, 0),
  });
});

test('fewer than two samples say nothing', () => {
  expect(() => growthOf([{ day: 1, mb: 200 }])).toThrow('two samples');
});
