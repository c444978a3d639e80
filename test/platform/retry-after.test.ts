import { expect, test } from 'vitest';
import { readRetryAfter } from '../../src/platform/http/retry-after.ts';

const NOW = new Date('2026-11-24T02:00:00.000Z');

test.each([
  ['30', 30_000],
  ['0', 0],
  ['Tue, 24 Nov 2026 02:00:30 GMT', 30_000],
  ['Tuesday, 24-Nov-26 02:00:30 GMT', 30_000],
  ['Tue Nov 24 02:00:30 2026', 30_000],
  ['Tue, 24 Nov 2026 02:00:30', 30_000],
  ['Tue, 24 Nov 2026 03:00:30 +0100', 30_000],
  ['Tue, 24 Nov 2026 01:00:00 GMT', 0],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ['-5', undefined],
  ['1.5', undefined],
  ['30, 60', undefined],
  ['soon', undefined],
  ['', undefined],
])('Retry-After: %s is read the same in each time zone of this machine', (retryAfter, waitMs) => {
  const zoneBefore = process.env['TZ'];
  try {
    for (const zone of ['UTC', 'America/New_York', 'Asia/Tokyo']) {
      process.env['TZ'] = zone;
      expect(readRetryAfter({ retryAfter, date: undefined }, NOW)).toBe(waitMs);
    }
  } finally {
    if (zoneBefore === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zoneBefore;
  }
});

test.each([
  ['Tue, 24 Nov 2026 14:00:00 GMT', 'Tue, 24 Nov 2026 14:00:30 GMT', 30_000],
  ['Mon, 23 Nov 2026 02:00:00 GMT', 'Mon, 23 Nov 2026 02:00:30 GMT', 30_000],
  ['Tue, 24 Nov 2026 14:00:00 GMT', '30', 30_000],
  ['yesterday', 'Tue, 24 Nov 2026 02:00:30 GMT', 30_000],
])('at a service whose clock says %s, Retry-After: %s is half a minute', (date, retryAfter, waitMs) => {
  expect(readRetryAfter({ retryAfter, date }, NOW)).toBe(waitMs);
});
