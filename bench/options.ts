import { parseArgs } from 'node:util';

/** The usage of `npm run bench`. */
export const USAGE = `Measures time, CPU time and memory of leadsync, and of programs that do the same work or less. Linux only.

  npm run bench                             the full run, about 45 minutes
  npm run bench -- --quick                  fewer leads and one run: about eight minutes, for a first impression
  npm run bench -- --only 1,4               only these rows
  npm run bench -- --json FILE              also writes the figures to FILE, as JSON
  npm run bench -- --write-docs FILE        measures nothing; writes docs/performance.md and its charts from such a file
  npm run bench -- --only 2 --profile DIR   writes CPU profiles of leadsync to DIR/row-2, one for each process

  --runs N   runs of each program (3; 1 with --quick)
`;

const LAST_ROW = 20;

/** The options of `npm run bench`. */
export interface BenchOptions {
  readonly quick: boolean;
  readonly runs: number;
  /** The numbers of the rows to run; undefined: all. */
  readonly only: ReadonlySet<number> | undefined;
  /** The file to write the report to, as JSON. */
  readonly json: string | undefined;
  /** The file of a report to write the documentation from; nothing is measured then. */
  readonly writeDocs: string | undefined;
  /** The folder for CPU profiles. */
  readonly profile: string | undefined;
  readonly help: boolean;
}

/** Reads the arguments. @throws Error with the fault, if there is one */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      runs: { type: 'string' },
      only: { type: 'string' },
      json: { type: 'string' },
      'write-docs': { type: 'string' },
      profile: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  return {
    quick: values.quick,
    runs: values.runs === undefined ? (values.quick ? 1 : 3) : positive('--runs', values.runs),
    only: values.only === undefined ? undefined : rows(values.only),
    json: values.json,
    writeDocs: values['write-docs'],
    profile: values.profile,
    help: values.help,
  };
}

function rows(list: string): Set<number> {
  const numbers = list.split(',').map((text) => positive('--only', text));
  const unknown = numbers.find((number) => number > LAST_ROW);
  if (unknown !== undefined)
    throw new Error(`--only: there is no row ${unknown}; the rows are 1 to ${LAST_ROW}.`);
  return new Set(numbers);
}

function positive(option: string, text: string): number {
  if (/^[1-9]\d*$/.test(text.trim())) return Number(text);
  throw new Error(`${option} needs a whole number of at least 1, not ${JSON.stringify(text)}.`);
}
