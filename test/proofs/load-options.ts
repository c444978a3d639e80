import { parseArgs } from 'node:util';
import { oneOf, wholeNumber } from '../support/program/command-line.ts';
import { type CarrierName, carriers } from '../support/scene/scene.ts';

export const USAGE = `npm run proof:load [-- [--leads N] [--carrier in-process|bullmq]]

N leads for three sinks at once, one of them down and one slow: is the third slowed, and is memory bounded?

  --leads N     so many (200000)
  --carrier C   in-process or bullmq; without it one after the other
  --help        this text

Needs PostgreSQL and redis-server on the machine, and starts its own. Exit code 0: as promised; 1: not; 2: wrong usage.
`;

export interface LoadOptions {
  readonly leads: number;
  readonly carriers: readonly CarrierName[];
}

/** Reads the command line. Gives 'help' when that is asked for. @throws Error that says what is wrong */
export function readOptions(args: readonly string[]): LoadOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      leads: { type: 'string', default: '200000' },
      carrier: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  return {
    leads: wholeNumber('leads', values.leads, 100, 9_999_999),
    carriers: values.carrier === undefined ? carriers : [oneOf('carrier', values.carrier, carriers)],
  };
}
