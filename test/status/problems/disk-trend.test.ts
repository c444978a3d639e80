import { expect, test } from 'vitest';
import { DiskTrend } from '../../../src/status/problems/disk-trend.ts';
import { lowDisk } from '../../../src/status/problems/process-problems.ts';

const GB = 1e9;
const HOUR_MS = 3_600_000;
const start = new Date('2026-11-20T00:00:00Z');
const after = (hours: number) => new Date(start.getTime() + hours * HOUR_MS);

/** A disk whose free space shrinks, measured every 5 minutes. */
function measured(hours: number, freeAfter: (hours: number) => number): DiskTrend {
  const trend = new DiskTrend();
  for (let at = 0; at <= hours; at += 1 / 12) trend.keep(after(at), { freeBytes: freeAfter(at) });
  return trend;
}

test.each([
  [0.5, 1, undefined],
  [6, 1, { lostBytes: 6 * GB, overMs: 6 * HOUR_MS }],
  [48, 0.1, { lostBytes: 2.4 * GB, overMs: 24 * HOUR_MS }],
  [48, -0.1, { lostBytes: -2.4 * GB, overMs: 24 * HOUR_MS }],
])('after %d h, the change is that of the last day, or since the start', (hours, perHour, change) => {
  const freeAfter = (at: number) => Math.round((100 - perHour * at) * GB);
  const disk = { freeBytes: freeAfter(hours), minFreeBytes: GB };
  const found = measured(hours, freeAfter).of(after(hours), disk).change;
  if (change === undefined) expect(found).toBeUndefined();
  else {
    expect((found?.lostBytes ?? 0) / change.lostBytes).toBeCloseTo(1, 1);
    expect((found?.overMs ?? 0) / change.overMs).toBeCloseTo(1, 1);
  }
});

test('a clock that was set back begins again', () => {
  const trend = measured(10, () => GB);
  trend.keep(after(2), { freeBytes: GB });
  expect(trend.of(after(2.5), { freeBytes: 0, minFreeBytes: GB }).change).toBeUndefined();
});

test('the problem says how much was used, and how long the rest lasts', () => {
  const disk = { freeBytes: 0.5 * GB, minFreeBytes: GB };
  const overMs = 24 * HOUR_MS;
  const message = (lostBytes: number) => lowDisk({ ...disk, change: { lostBytes, overMs } })?.message;
  expect(message(0.25 * GB)).toMatch(
    / It shrank by .* in the last .*; at that rate, the disk is full in 2 days\.$/,
  );
  expect(message(0)).toMatch(/ The free space has not shrunk in the last /);
  expect(lowDisk(disk)?.message).toMatch(/\(`ledger\.min_free`\)\.$/);
});
