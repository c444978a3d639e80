import { validate as isCron } from 'node-cron';
import { z } from 'zod';
import { didYouMean } from '../../platform/text/suggest.ts';
import { isTimezone } from '../../platform/time/timezone.ts';
import type { PollSchedule } from '../contract/config.ts';
import { durationBetween } from './option-limits.ts';

/** The default interval between polls, in ms. */
export const DEFAULT_EVERY_MS = 30_000;

/** The schema of `poll`: when a source is polled, at an interval or by cron. */
export const pollOptions = z
  .strictObject({
    every: durationBetween('1s', '7d')
      .optional()
      .describe('The time from one poll to the next. Default without `cron`: 30s.'),
    cron: z
      .string()
      .refine((text) => isCron(text), 'must be a cron expression such as "*/5 8-18 * * 1-5"')
      .optional()
      .describe(
        'When to poll, as five cron fields, or six with seconds first; instead of `every`. A day must match both the day-of-month field and the day-of-week field. If a scheduled time was missed because leadsync was not running, or if no poll has ever been complete, leadsync polls when it starts.',
      ),
    timezone: z
      .string()
      .superRefine((zone, context) => {
        if (!isTimezone(zone)) context.addIssue({ code: 'custom', message: faultOfTimezone(zone) });
      })
      .optional()
      .describe('The time zone of `cron`, such as Australia/Sydney. Default: that of this machine.'),
  })
  .refine((poll) => !('every' in poll && 'cron' in poll), {
    path: ['cron'],
    message: 'cannot be combined with `every`: keep one of the two',
    when: isMap,
  })
  .refine((poll) => !('timezone' in poll) || 'cron' in poll, {
    path: ['timezone'],
    message: 'has no effect without `cron`: remove it',
    when: isMap,
  })
  .transform(
    ({ every, cron, timezone }): PollSchedule =>
      cron === undefined ? { everyMs: every ?? DEFAULT_EVERY_MS } : { cron, timezone },
  );

/** Lets zod run the two checks above even if other options have faults. */
function isMap({ value }: { value: unknown }): boolean {
  return typeof value === 'object' && value !== null;
}

function faultOfTimezone(zone: string): string {
  const suggestion = didYouMean(zone, Intl.supportedValuesOf('timeZone'));
  return `must be a time zone such as Europe/Berlin${suggestion === '' ? '' : `; ${suggestion}`}`;
}
