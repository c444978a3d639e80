import { parseArgs } from 'node:util';
import { wholeNumber } from '../support/program/command-line.ts';

export const USAGE = `npm run proof:week [-- [--days N] [--speed N] [--leads N] [--per-day N]]

A leadsync whose clock and timers run many times as fast as real time works for a week: polls, deliveries to sinks of which some
fail, a mirror, exports, backups, alerts, pages and metrics. Does its memory grow? Linux only.

  --days N      simulated days (7); the first is not judged
  --speed N     how many times as fast as real time (240, so that a week takes 42 minutes)
  --leads N     leads that are listed from the beginning (5000)
  --per-day N   new leads in a simulated day (1000)
  --help        this text

Needs PostgreSQL on the machine, and starts its own. Exit code 0: memory does not grow; 1: it does, or too many requests got no
answer; 2: wrong usage.
`;

export interface WeekOptions {
  readonly days: number;
  readonly speed: number;
  readonly leads: number;
  readonly perDay: number;
}

/** Reads the command line. Returns 'help' if it asks for help. @throws Error that says what is wrong */
export function readOptions(args: readonly string[]): WeekOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      days: { type: 'string', default: '7' },
      speed: { type: 'string', default: '240' },
      leads: { type: 'string', default: '5000' },
      'per-day': { type: 'string', default: '1000' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  return {
    days: wholeNumber('days', values.days, 2, 100),
    speed: wholeNumber('speed', values.speed, 1, 1_000),
    leads: wholeNumber('leads', values.leads, 1, 1_000_000),
    perDay: wholeNumber('per-day', values['per-day'], 0, 100_000),
  };
}
