import { parseArgs } from 'node:util';
import { oneOf, wholeNumber } from '../support/program/command-line.ts';
import { type CarrierName, carriers } from '../support/scene/scene.ts';
import { CRMS } from './crms/crms.ts';
import { type LedgerName, ledgers } from './ledgers/run-ledger.ts';

/** The options of the command line. */
export interface ChaosOptions {
  /** The first seed; undefined means a random one for each run. */
  readonly seed: number | undefined;
  readonly seconds: number;
  readonly runs: number;
  /** The carriers of the runs, in turn. */
  readonly carriers: readonly CarrierName[];
  /** Number of CRMs of a run. */
  readonly crms: number;
  readonly ledger: LedgerName;
  readonly machines: number;
}

export const USAGE = `npm run test:chaos -- [--seed N] [--seconds S] [--runs K] [--carrier in-process|bullmq] [--crms N]
                      [--ledger sqlite|postgres] [--machines N]

For a while, everything fails at random and at the same time: leads arrive and change, the service misbehaves, sinks
fail, disks fill up, Redis and PostgreSQL are killed, frozen and emptied, leadsync is killed, frozen and restarted, an
operator runs commands, and the mappings of the sinks change. The seed chooses the CRMs, and MySQL, Kafka or a program.
Then everything is healed, and every lead must be accounted for at every sink, in the form of a mapping that was in force
when its attempt began.

  --seed N      selects the run: it determines every action and its time. The state that an action finds differs
                between runs, so a fault may take several tries to show again. Without it, a random seed, which is printed.
  --seconds S   how long the faults last before everything is healed (60)
  --runs K      the number of runs, with consecutive seeds (1)
  --carrier C   in-process or bullmq; without it, the seed decides
  --crms N      the number of CRMs that are sinks, from 1 to 3 (2)
  --ledger L    sqlite or postgres (sqlite); with postgres, the server of the ledger is killed and frozen, too, its tables are
                locked, and the line of each machine to it is cut, unplugged, stopped and delayed
  --machines N  the number of machines that share a ledger in PostgreSQL, from 1 to 5 (1)
  --help        prints this text

Needs redis-server, PostgreSQL and MariaDB on the machine, and starts its own. As root on Linux, the disks are small file systems
of their own; elsewhere they cannot be full or read-only, and the output says so. Actions are printed to standard error,
the result to standard output. Exit code 0: every promise was kept; 1: a promise was broken, and the ledger, the logs
and a record are kept; 2: wrong usage.
`;

const LONGEST_S = 86_400;
const MOST_MACHINES = 5;

/** Parses the command line. Returns 'help' if requested. @throws Error that says what is wrong */
export function readOptions(args: readonly string[]): ChaosOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string' },
      seconds: { type: 'string', default: '60' },
      runs: { type: 'string', default: '1' },
      carrier: { type: 'string' },
      crms: { type: 'string', default: '2' },
      ledger: { type: 'string', default: 'sqlite' },
      machines: { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const ledger = oneOf('ledger', values.ledger, ledgers);
  const machines = wholeNumber('machines', values.machines, 1, MOST_MACHINES);
  if (machines > 1 && ledger !== 'postgres') throw new Error('--machines needs --ledger postgres.');
  return {
    seed: values.seed === undefined ? undefined : wholeNumber('seed', values.seed, 0, 2 ** 31 - 1),
    seconds: wholeNumber('seconds', values.seconds, 1, LONGEST_S),
    runs: wholeNumber('runs', values.runs, 1, 100_000),
    carriers: values.carrier === undefined ? carriers : [oneOf('carrier', values.carrier, carriers)],
    crms: wholeNumber('crms', values.crms, 1, CRMS.length),
    ledger,
    machines,
  };
}
