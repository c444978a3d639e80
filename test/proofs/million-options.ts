import { parseArgs } from 'node:util';
import { wholeNumber } from '../support/program/command-line.ts';

export const USAGE = `npm run proof:million [-- [--leads N]]

A first sync of a million leads (about 0.9 GB) into the ledger: how long it takes, how much memory at the most, and whether
the process answers /livez throughout. Linux only.

  --leads N   so many (1000000)
  --help      this text

Exit code 0: as promised; 1: not; 2: wrong usage.
`;

/** Reads the command line. Gives 'help' when that is asked for. @throws Error that says what is wrong */
export function readOptions(args: readonly string[]): { readonly leads: number } | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      leads: { type: 'string', default: '1000000' },
      help: { type: 'boolean', default: false },
    },
  });
  return values.help ? 'help' : { leads: wholeNumber('leads', values.leads, 1, 9_999_999) };
}
