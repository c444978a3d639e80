import { InvalidArgumentError } from 'commander';
import { AGE, MOMENT_FORMS, momentOf } from '../../platform/time/moment.ts';

/** Reads what `--since` and `--until` were given. @throws InvalidArgumentError */
export function readMoment(text: string, now: Date): Date {
  const at = momentOf(text, now);
  if (at === undefined)
    throw new InvalidArgumentError(`Write ${MOMENT_FORMS}; such as 2026-11-20 or 2026-11-20T10:30.`);
  return at;
}

/** Whether a moment is written as how long ago: `7d`. */
export function isAge(text: string, now: Date): boolean {
  return AGE.test(text) && momentOf(text, now) !== undefined;
}
