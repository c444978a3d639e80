import { expect, test } from 'vitest';
import { deliveryRate, rateRequests } from '../../src/status/delivery-rate.ts';

const now = new Date('2026-11-20T10:04:00.000Z');

function delivered(...counts: readonly number[]) {
  return counts.map((delivered, at) => ({
    sink: `sink-${at}`,
    total: { delivered, refused: 100, unavailable: 100, duration: undefined },
  }));
}

test('the rate counts what all sinks delivered since the previous interval of ten minutes began', () => {
  expect(deliveryRate(now, { now: delivered(14, 28), hourAgo: delivered(10, 0) })).toEqual({
    now: 3, // 42 in the 14 minutes since 09:50
    hour_ago: 0.5,
  });
  expect(deliveryRate(now, { now: [], hourAgo: [] })).toEqual({ now: 0, hour_ago: 0 });
});

test('the rate is queried for two intervals of ten minutes, now and an hour ago', () => {
  expect(rateRequests(now)).toEqual({
    now: { now, periodMs: 1_200_000 },
    hourAgo: { now: new Date('2026-11-20T09:04:00.000Z'), periodMs: 1_200_000 },
  });
});
