import { z } from 'zod';
import { duration } from '../../platform/options/option-types.ts';

/** Returns the schema of a duration between two limits. Its error message names both limits. The parsed value is in ms. */
export function durationBetween(least: Duration, most: Duration) {
  const [from, to] = [duration().parse(least), duration().parse(most)];
  return duration().refine((ms) => ms >= from && ms <= to, `must be between ${least} and ${most}`);
}

type Duration = `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

/** Matches the valid names of sources, sinks and exports. */
export const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** The schema of a name. It is strict, because names appear in log lines, metrics, tables and file names. */
export const nameOption = z
  .string()
  .regex(
    NAME,
    'a name consists of a-z, 0-9, _ and -, begins with a letter or digit, and has at most 63 characters',
  );
