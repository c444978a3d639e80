import { parseArgs } from 'node:util';
import { wholeNumber } from '../support/program/command-line.ts';

export const USAGE = `npm run proof:drain [-- [--leads N] [--minutes N]]

Whether claims stay as fast while a long backlog drains: a million leads are owed, and one process delivers for ten minutes as fast as it
can. First with a ledger in PostgreSQL, then with one in SQLite. Shows for each minute how long a claim takes, and of PostgreSQL the deleted
rows that still take up space.

  --leads N     so many (1000000)
  --minutes N   so long, unless the backlog ends before (10)
  --help        this text

Exit code 0: in the last minute, 99 of 100 claims take at most twice as long as in the first; 1: not; 2: wrong usage.
`;

/** How many leads are owed, and how long they drain. */
export interface DrainOptions {
  readonly leads: number;
  readonly minutes: number;
}

/** Reads the command line. Returns 'help' if it asks for that. @throws Error that says what is wrong */
export function readOptions(args: readonly string[]): DrainOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      leads: { type: 'string', default: '1000000' },
      minutes: { type: 'string', default: '10' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  return {
    leads: wholeNumber('leads', values.leads, 1, 9_999_999),
    minutes: wholeNumber('minutes', values.minutes, 1, 600),
  };
}
