import { expect, test } from 'vitest';
import { type ListingSize, sizeBeforeShrinking } from '../../src/leads/listing-shrinkage.ts';

const lastSuccessAt = new Date('2026-11-20T10:00:00.000Z');

test.each<[what: string, size: ListingSize, before: number | undefined]>([
  ['is empty', { lastSuccessAt, listed: 0, listedLately: 60, leads: 80 }, 60],
  ['has been empty for more than a week', { lastSuccessAt, listed: 0, listedLately: 0, leads: 80 }, 80],
  ['was always empty', { lastSuccessAt, listed: 0, listedLately: 0, leads: 0 }, undefined],
  ['has less than half of its leads', { lastSuccessAt, listed: 29, listedLately: 60, leads: 80 }, 60],
  ['has half of its leads', { lastSuccessAt, listed: 30, listedLately: 60, leads: 80 }, undefined],
  ['has lost few leads', { lastSuccessAt, listed: 1, listedLately: 20, leads: 20 }, undefined],
  [
    'is read for the first time',
    { lastSuccessAt: undefined, listed: 0, listedLately: 0, leads: 54 },
    undefined,
  ],
])('a listing that %s', (_what, size, before) => {
  expect(sizeBeforeShrinking(size)).toBe(before);
});
