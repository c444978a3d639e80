import { validate as isCron } from 'node-cron';
import { z } from 'zod';
import { isTimezone } from '../../platform/time/timezone.ts';
import type { PollSchedule } from '../contract/config.ts';
import { didYouMean } from '../faults/suggest.ts';
import { durationBetween } from './option-limits.ts';

/** The time from one poll to the next where nothing is said of it. */
export const DEFAULT_EVERY_MS = 30_000;

/** When a source is polled: at an interval, or by cron. */
export const pollOptions = z
  .strictObject({
    every: durationBetween('1s', '7d')
      .optional()
      .describe('The time from one poll to the next. 30s when neither this nor `cron` is given.'),
    cron: z
      .string()
      .refine((text) => isCron(text), 'must be a cron expression such as "*/5 8-18 * * 1-5"')
      .optional()
      .describe(
        'When to poll, as five cron fields, or six with seconds first; in place of `every`. A day has to match both its day of the month and its day of the week. A time that passed while leadsync was away is made up for at its start.',
      ),
    timezone: z
      .string()
      .superRefine((zone, context) => {
        if (!isTimezone(zone)) context.addIssue({ code: 'custom', message: faultOfTimezone(zone) });
      })
      .optional()
      .describe(
        'Where the clock of `cron` hangs, such as Australia/Sydney. Absent: the zone of this machine.',
      ),
  })
  .refine((poll) => !('every' in poll && 'cron' in poll), {
    path: ['cron'],
    message: 'cannot stand beside `every`: keep one of the two',
    when: isMap,
  })
  .refine((poll) => !('timezone' in poll) || 'cron' in poll, {
    path: ['timezone'],
    message: 'means nothing without `cron`: remove it',
    when: isMap,
  })
  .transform(
    ({ every, cron, timezone }): PollSchedule =>
      cron === undefined ? { everyMs: every ?? DEFAULT_EVERY_MS } : { cron, timezone },
  );

/** These two are told beside whatever else is wrong. */
function isMap({ value }: { value: unknown }): boolean {
  return typeof value === 'object' && value !== null;
}

function faultOfTimezone(zone: string): string {
  const suggestion = didYouMean(zone, Intl.supportedValuesOf('timeZone'));
  return `must be a time zone such as Europe/Berlin${suggestion === '' ? '' : `; ${suggestion}`}`;
}
