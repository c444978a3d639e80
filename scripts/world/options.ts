import { parseArgs } from 'node:util';
import { wholeNumber } from '../../test/support/program/command-line.ts';

/** The options of `npm run world`. */
export interface WorldOptions {
  /** Duration, not counting the end in which the last leads arrive. */
  readonly minutes: number;
  /** How many minutes of the timetable pass in a minute. */
  readonly speed: number;
  /** Leads that both sources together list from the start. */
  readonly leads: number;
  /** New leads per minute of both sources together. */
  readonly rate: number;
  /** The folder for pictures of the pages; undefined: no pictures. */
  readonly pictures: string | undefined;
}

/** The help of `npm run world`. */
export const USAGE = `npm run world                               watch leadsync fail and recover, for an hour
npm run world -- --minutes 6 --speed 10     the same hour in 6 minutes
npm run world -- --pictures out/pictures    also takes pictures of the pages

  --minutes N      duration (60); Ctrl-C ends it sooner
  --speed N        minutes of the timetable that pass in a minute, 1 to 60 (1)
  --leads N        leads that the sources list from the start (600)
  --rate N         new leads per minute (60)
  --pictures DIR   a folder for pictures of the pages; needs Chromium. Each event waits for the pictures before it, so it takes longer

At the end everything works again and the last leads arrive. The exit code is 0 if each lead arrived exactly once everywhere.
`;

/** Reads the command line. Returns 'help' for `--help`. @throws Error that names the fault */
export function readWorldOptions(args: readonly string[]): WorldOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '60' },
      speed: { type: 'string', default: '1' },
      leads: { type: 'string', default: '600' },
      rate: { type: 'string', default: '60' },
      pictures: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  if (values.pictures === '') throw new Error('--pictures takes a folder.');
  return {
    minutes: wholeNumber('minutes', values.minutes, 1, 240),
    speed: wholeNumber('speed', values.speed, 1, 60),
    leads: wholeNumber('leads', values.leads, 0, 40_000),
    rate: wholeNumber('rate', values.rate, 0, 600),
    pictures: values.pictures,
  };
}
