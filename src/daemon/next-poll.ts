import { createTask } from 'node-cron';
import type { PollSchedule } from '../config/config.ts';

const MINUTE_MS = 60_000;
/** How far a cron expression is looked through, in ms; about half a second of work. */
const FURTHEST_MS = 40 * 24 * 60 * MINUTE_MS;

/**
 * When a source that was polled at `last` was due again by its schedule, to the minute for cron; undefined when that is
 * after `until`, or for a cron expression that is more than 40 days after `last`.
 */
export function nextPollAfter(schedule: PollSchedule, last: Date, until: Date): Date | undefined {
  if ('everyMs' in schedule) {
    const next = new Date(last.getTime() + schedule.everyMs);
    return next > until ? undefined : next;
  }
  return nextCronMinute(schedule, last, until);
}

function nextCronMinute(
  { cron, timezone }: Extract<PollSchedule, { cron: string }>,
  last: Date,
  until: Date,
): Date | undefined {
  const fields = cron.trim().split(/\s+/);
  // Whole minutes are looked at, so the field of the seconds would only be in the way.
  const minutes = fields.length > 5 ? fields.slice(1).join(' ') : cron;
  const task = createTask(minutes, () => undefined, timezone ? { timezone } : {});
  try {
    const endMs = Math.min(until.getTime(), last.getTime() + FURTHEST_MS);
    let ms = (Math.floor(last.getTime() / MINUTE_MS) + 1) * MINUTE_MS;
    for (; ms <= endMs; ms += MINUTE_MS) if (task.match(new Date(ms))) return new Date(ms);
    return undefined;
  } finally {
    void task.destroy();
  }
}
