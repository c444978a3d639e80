import { InvalidArgumentError } from 'commander';
import { AGE, MOMENT_FORMS, momentOf } from '../../platform/time/parse-moment.ts';

/** Parses the value of `--since` or `--until`. @throws InvalidArgumentError */
export function readMoment(text: string, now: Date): Date {
  const at = momentOf(text, now);
  if (at === undefined)
    throw new InvalidArgumentError(`Write ${MOMENT_FORMS}, such as 2026-11-20 or 2026-11-20T10:30.`);
  return at;
}

/** Whether a time is written as a duration before now: `7d`. */
export function isAge(text: string, now: Date): boolean {
  return AGE.test(text) && momentOf(text, now) !== undefined;
}
