import { wallTime } from '../../platform/time/timezone.ts';

/** The schedule of an export or backup: at an interval, or daily at a time (`HH:MM`) in a time zone. */
export type ExportSchedule =
  | { readonly everyMs: number }
  | { readonly at: string; readonly timezone: string };

const DAY_MS = 86_400_000;

/**
 * Returns when the next run is due after the run that began at `last`. If the clocks skip the daily time, the run is due later by the
 * length of the skip.
 */
export function dueAfter(schedule: ExportSchedule, last: Date): Date {
  if ('everyMs' in schedule) return new Date(last.getTime() + schedule.everyMs);
  const { at, timezone } = schedule;
  const [hour = 0, minute = 0] = at.split(':').map(Number);
  const today = wallTime(last.getTime(), timezone);
  const midnight = today - (today % DAY_MS);
  const ofDay = (day: number) => instantOf(midnight + day * DAY_MS + (hour * 60 + minute) * 60_000, timezone);
  const due = [0, 1, 2].map(ofDay).find((ms) => ms > last.getTime());
  return new Date(due ?? last.getTime() + DAY_MS);
}

/** Returns the instant of a local time. A time that a clock change skips is computed with the offset before the change. */
function instantOf(wall: number, timezone: string): number {
  const offsetAt = (ms: number) => wallTime(ms, timezone) - ms;
  const before = wall - offsetAt(wall - DAY_MS);
  if (wallTime(before, timezone) === wall) return before;
  const after = wall - offsetAt(wall + DAY_MS);
  return wallTime(after, timezone) === wall ? after : before;
}
