import type { PollSchedule } from '../config/contract/config.ts';
import { nextCronTime } from './cron-times.ts';

/** Returns when the poll after the one at `last` is due by the schedule; undefined if that is after `until`. */
export function nextPollAfter(schedule: PollSchedule, last: Date, until: Date): Date | undefined {
  if ('cron' in schedule) return nextCronTime(schedule, last, until);
  const next = new Date(last.getTime() + schedule.everyMs);
  return next > until ? undefined : next;
}
