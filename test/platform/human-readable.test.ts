import { expect, test } from 'vitest';
import {
  countOf,
  printAgo,
  printBytes,
  printDate,
  printSpan,
} from '../../src/platform/text/human-readable.ts';

test.each([
  [-5, '0 ms'],
  [0, '0 ms'],
  [999.4, '999 ms'],
  [999.6, '1 s'],
  [1_449, '1.4 s'],
  [59_949, '59.9 s'],
  [59_960, '1 min'],
  [125_000, '2 min 5 s'],
  [3_599_700, '1 h'],
  [11_400_000, '3 h 10 min'],
  [86_399_000, '1 d'],
  [187_200_000, '2 d 4 h'],
])('%d ms are printed as %s', (ms, words) => {
  expect(printSpan(ms)).toBe(words);
});

test.each([
  ['2026-11-20T10:00:05.000Z', 'just now'],
  ['2026-11-20T10:00:00.400Z', 'just now'],
  ['2026-11-20T09:59:48.000Z', '12 s ago'],
  ['2026-11-18T06:00:00.000Z', '2 d 4 h ago'],
])('%s was %s', (at, words) => {
  expect(printAgo(new Date(at), new Date('2026-11-20T10:00:00.900Z'))).toBe(words);
});

test('counts, bytes and times', () => {
  expect([1, 999, 1_000, 12_345, 1_234_567].map((count) => countOf(count, 'lead'))).toEqual([
    '1 lead',
    '999 leads',
    '1,000 leads',
    '12,345 leads',
    '1,234,567 leads',
  ]);
  expect([812, 64_200, 34_120_411, 3_000_000_000].map(printBytes)).toEqual([
    '812 B',
    '64 kB',
    '34.1 MB',
    '3 GB',
  ]);
  expect(printDate(new Date('2026-11-05T10:00:05.123Z'))).toBe('5 Nov 2026, 10:00:05 UTC');
});
