import { wallTime } from '../../platform/time/timezone.ts';

/** When an export is made: at an interval, or once a day at an hour (`HH:MM`) of a time zone. */
export type ExportSchedule =
  | { readonly everyMs: number }
  | { readonly at: string; readonly timezone: string };

const DAY_MS = 86_400_000;

/** When the next one is due after one that began at `last`. An hour that a change of the clocks leaves out comes as much later. */
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

/** When the clocks of a time zone show that. The offset before a change of the clocks is taken where they never show it. */
function instantOf(wall: number, timezone: string): number {
  const offsetAt = (ms: number) => wallTime(ms, timezone) - ms;
  const before = wall - offsetAt(wall - DAY_MS);
  if (wallTime(before, timezone) === wall) return before;
  const after = wall - offsetAt(wall + DAY_MS);
  return wallTime(after, timezone) === wall ? after : before;
}
