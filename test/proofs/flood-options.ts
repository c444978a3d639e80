import { parseArgs } from 'node:util';
import { wholeNumber } from '../support/program/command-line.ts';

export const USAGE = `npm run proof:flood [-- [--leads N] [--per-second N] [--rounds N]]

A backlog drains to a webhook while /metrics and /livez are asked ten thousand times a second, by turns with the same without
the flood: is delivery slowed?

  --leads N        the backlog (150000)
  --per-second N   requests in the flood (10000)
  --rounds N       turns without and with it (4); each takes 6 s
  --help           this text

Exit code 0: as promised; 1: not; 2: wrong usage.
`;

export interface FloodProof {
  readonly leads: number;
  readonly perSecond: number;
  readonly rounds: number;
}

/** Reads the command line. Gives 'help' when that is asked for. @throws Error that says what is wrong */
export function readOptions(args: readonly string[]): FloodProof | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      leads: { type: 'string', default: '150000' },
      'per-second': { type: 'string', default: '10000' },
      rounds: { type: 'string', default: '4' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  return {
    leads: wholeNumber('leads', values.leads, 1_000, 9_999_999),
    perSecond: wholeNumber('per-second', values['per-second'], 1, 100_000),
    rounds: wholeNumber('rounds', values.rounds, 1, 100),
  };
}
