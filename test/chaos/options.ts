import { parseArgs } from 'node:util';
import { oneOf, wholeNumber } from '../support/program/command-line.ts';
import { type CarrierName, carriers } from '../support/scene/scene.ts';

/** What is asked for on the command line. */
export interface ChaosOptions {
  /** The first seed; undefined: a random one each time. */
  readonly seed: number | undefined;
  readonly seconds: number;
  readonly runs: number;
  /** Which carrier each run is on, in turn. */
  readonly carriers: readonly CarrierName[];
}

export const USAGE = `npm run test:chaos -- [--seed N] [--seconds S] [--runs K] [--carrier in-process|bullmq]

Everything goes wrong at once, at random, for a while: leads arrive and change, the service misbehaves, sinks fail,
disks fill up, Redis and PostgreSQL are killed, frozen and emptied, leadsync is killed, frozen and restarted, and
somebody works at the command line. Then everything is healed, and every lead must be accounted for at every sink.

  --seed N      which run: it decides all that is done, and when. What it meets differs from time to time, so a
                fault may take several tries to show again. Without it a random one, which is printed.
  --seconds S   how long things go wrong, before they are healed (60)
  --runs K      so many runs, with seeds that follow one another (1)
  --carrier C   in-process or bullmq; without it they take turns, by the seed
  --help        this text

Needs redis-server and PostgreSQL on the machine, and starts its own. As root on Linux the disks are small file
systems of their own; elsewhere they cannot be full or read-only, which is then said. What is done is printed on
standard error, the outcome on standard output. Exit code 0: every promise was kept; 1: not, and the ledger, the logs
and a record are kept; 2: wrong usage.
`;

const LONGEST_S = 86_400;

/** Reads the command line. Gives 'help' when that is asked for. @throws Error that says what is wrong */
export function readOptions(args: readonly string[]): ChaosOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string' },
      seconds: { type: 'string', default: '60' },
      runs: { type: 'string', default: '1' },
      carrier: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  return {
    seed: values.seed === undefined ? undefined : wholeNumber('seed', values.seed, 0, 2 ** 31 - 1),
    seconds: wholeNumber('seconds', values.seconds, 1, LONGEST_S),
    runs: wholeNumber('runs', values.runs, 1, 100_000),
    carriers: values.carrier === undefined ? carriers : [oneOf('carrier', values.carrier, carriers)],
  };
}
