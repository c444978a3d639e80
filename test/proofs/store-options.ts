import { parseArgs } from 'node:util';
import { wholeNumber } from '../support/program/command-line.ts';

export const USAGE = `npm run proof:store [-- [--leads N]]

A ledger of a million leads, delivered and mirrored to a PostgreSQL of its own: how long each documented query takes in
both (limit 2 s; v_freshness and v_sink_health 50 ms), whether both give the same answer, and what the indexes take.
It takes some minutes and 5 GB of disk.

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
