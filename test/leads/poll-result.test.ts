import { expect, test } from 'vitest';
import { hasShrunk, pollResult } from '../../src/leads/poll-result.ts';

test.each([
  [40, 40, false],
  [40, null, false],
  [12, 40, true],
  [0, 2, true],
  [21, 40, false],
])('a listing of %i leads after one of %s has shrunk: %s', (leads_listed, listed_before, shrunk) => {
  expect(hasShrunk({ leads_listed, listed_before })).toBe(shrunk);
});

test.each([
  ['success', false, 0, 'success'],
  ['unchanged', false, 3, 'rejected'],
  ['success', true, 3, 'shrunk'],
  ['failed', false, 0, 'failed'],
] as const)(
  'a poll with status %s, shrunk %s and %i rejected leads has the result %s',
  (status, is_shrunk, listing_rejected, result) => {
    expect(pollResult({ status, is_shrunk, listing_rejected })).toBe(result);
  },
);
