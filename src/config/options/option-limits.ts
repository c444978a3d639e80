import { z } from 'zod';
import { duration } from '../../platform/options/option-types.ts';

/** A duration of the configuration, in ms, between two durations that are part of the message. */
export function durationBetween(least: Duration, most: Duration) {
  const [from, to] = [duration().parse(least), duration().parse(most)];
  return duration().refine((ms) => ms >= from && ms <= to, `must be between ${least} and ${most}`);
}

type Duration = `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

/** What a source or a sink may be called. */
export const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** Names of sources and sinks are in log lines, metrics, tables and file names. */
export const nameOption = z
  .string()
  .regex(
    NAME,
    'a name is made of a-z, 0-9, _ and -, begins with a letter or digit, and has at most 63 characters',
  );
