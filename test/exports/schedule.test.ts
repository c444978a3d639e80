import { expect, test } from 'vitest';
import { dueAfter } from '../../src/exports/contract/schedule.ts';

test.each([
  [{ at: '03:00', timezone: 'UTC' }, '2026-11-20T02:59:59.999Z', '2026-11-20T03:00:00.000Z'],
  [{ at: '03:00', timezone: 'UTC' }, '2026-11-20T03:00:00.000Z', '2026-11-21T03:00:00.000Z'],
  [{ at: '03:00', timezone: 'Europe/Berlin' }, '2026-11-20T01:00:00.000Z', '2026-11-20T02:00:00.000Z'],
  [{ at: '23:30', timezone: 'Asia/Kolkata' }, '2026-11-20T18:30:00.000Z', '2026-11-21T18:00:00.000Z'],
  [{ at: '00:00', timezone: 'Pacific/Kiritimati' }, '2026-11-20T09:59:00.000Z', '2026-11-20T10:00:00.000Z'],
  // The clocks leave 02:30 out, and show it twice: once a day all the same.
  [{ at: '02:30', timezone: 'Europe/Berlin' }, '2026-03-28T01:30:00.000Z', '2026-03-29T01:30:00.000Z'],
  [{ at: '02:30', timezone: 'Europe/Berlin' }, '2026-03-29T01:30:00.000Z', '2026-03-30T00:30:00.000Z'],
  [{ at: '02:30', timezone: 'Europe/Berlin' }, '2026-10-24T00:30:00.000Z', '2026-10-25T00:30:00.000Z'],
  [{ at: '02:30', timezone: 'Europe/Berlin' }, '2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z'],
  // Samoa had no 30 December 2011.
  [{ at: '03:00', timezone: 'Pacific/Apia' }, '2011-12-29T13:00:00.000Z', '2011-12-30T13:00:00.000Z'],
  [{ everyMs: 3_600_000 }, '2026-11-20T02:59:59.999Z', '2026-11-20T03:59:59.999Z'],
])('%j is due after %s at %s', (schedule, last, due) => {
  expect(dueAfter(schedule, new Date(last)).toISOString()).toBe(due);
});
