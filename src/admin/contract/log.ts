import { z } from 'zod';
import { time } from './values.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;

/** Filter for log lines. */
export const LogFilter = z.object({
  /** The minimum level. */
  level: z.enum(LEVELS).optional(),
  /** Type of the event, such as `sink-held`. */
  event: z.string().max(100).optional(),
  source: z.string().optional(),
  sink: z.string().optional(),
  /** Text that the message contains, in any case of letters. */
  text: z.string().max(200).optional(),
});

/** A line of the log. Contains no personal data. */
export const LogLine = z.object({
  at: time,
  level: z.enum(LEVELS),
  /** Type of the event, such as `sink-held`. */
  event: z.string(),
  message: z.string(),
  /** The source and the sink that the event is about; null if there is none. */
  source: z.string().nullable(),
  sink: z.string().nullable(),
});

/** The fields of a line, in order. */
export const LOG_COLUMNS = LogLine.keyof().options;

export type LogFilter = z.infer<typeof LogFilter>;
export type LogLine = z.infer<typeof LogLine>;
