import { z } from 'zod';
import { time } from './values.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;

/** Filter for log lines. */
export const LogFilter = z.object({
  /** The minimum level. */
  level: z.enum(LEVELS).optional(),
});

/** A line of the log. Contains no personal data. */
export const LogLine = z.object({
  at: time,
  level: z.enum(LEVELS),
  /** Type of the event, such as `sink-held`. */
  event: z.string(),
  message: z.string(),
});

/** The fields of a line, in order. */
export const LOG_COLUMNS = LogLine.keyof().options;

/** Whether a line has at least the minimum level of a filter. */
export function isLogged({ level }: LogLine, { level: least = 'trace' }: LogFilter): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(least);
}

export type LogFilter = z.infer<typeof LogFilter>;
export type LogLine = z.infer<typeof LogLine>;
