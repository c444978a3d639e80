import { parseArgs } from 'node:util';
import { wholeNumber } from '../support/program/command-line.ts';

export const USAGE = `npm run test:simulation [-- [--seeds N] [--from M] [--failures K] [--tell]]

Runs the core of leadsync on a clock, a network and a disk that a seed controls: the same seed is the same run, to the
last step.

  --seeds N      the number of runs (1000)
  --from M       the first seed (1)
  --failures K   stops after this many failed runs (3)
  --tell         prints each step
  --help         prints this text

Exit code 0: every promise was kept; 1: a promise was broken; 2: wrong usage.
`;

export interface SimulationOptions {
  readonly seeds: number;
  readonly from: number;
  readonly failures: number;
  readonly tell: boolean;
}

const MOST = 1_000_000_000;

/** Parses the command line. Returns 'help' if requested. @throws Error that says what is wrong */
export function readOptions(args: readonly string[]): SimulationOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: 'string', default: '1000' },
      from: { type: 'string', default: '1' },
      failures: { type: 'string', default: '3' },
      tell: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  return {
    seeds: wholeNumber('seeds', values.seeds, 1, MOST),
    from: wholeNumber('from', values.from, 0, MOST),
    failures: wholeNumber('failures', values.failures, 1, MOST),
    tell: values.tell,
  };
}
