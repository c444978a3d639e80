import type { PollSchedule } from '../config/contract/config.ts';
import { nextCronTime } from './cron-times.ts';

/** When a source that was polled at `last` was due again by its schedule; undefined when that is after `until`. */
export function nextPollAfter(schedule: PollSchedule, last: Date, until: Date): Date | undefined {
  if ('cron' in schedule) return nextCronTime(schedule, last, until);
  const next = new Date(last.getTime() + schedule.everyMs);
  return next > until ? undefined : next;
}
