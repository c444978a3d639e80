import { parseArgs } from 'node:util';

export const USAGE = `What leadsync takes in time, CPU and memory, beside programs that do the same or less. Linux only.

  npm run bench                             the full run, about half an hour
  npm run bench -- --quick                  fewer leads and one run: five minutes, for a first look
  npm run bench -- --only 1,4               some rows
  npm run bench -- --json FILE              the figures for machines as well
  npm run bench -- --write-docs FILE        measures nothing: writes docs/performance.md and its charts from such a file
  npm run bench -- --only 2 --profile DIR   writes CPU profiles of leadsync, one a process, into DIR/row-2

  --runs N   how often each program runs (3; 1 with --quick)
`;

const LAST_ROW = 14;

export interface BenchOptions {
  readonly quick: boolean;
  readonly runs: number;
  /** The numbers of the rows to run; undefined: all. */
  readonly only: ReadonlySet<number> | undefined;
  /** Where the report is written as JSON. */
  readonly json: string | undefined;
  /** A report to write the documentation from, in place of a run. */
  readonly writeDocs: string | undefined;
  readonly profile: string | undefined;
  readonly help: boolean;
}

/** @throws Error that says what is wrong with the arguments */
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
    throw new Error(`--only: there is no row ${unknown}; they are 1 to ${LAST_ROW}.`);
  return new Set(numbers);
}

function positive(option: string, text: string): number {
  if (/^[1-9]\d*$/.test(text.trim())) return Number(text);
  throw new Error(`${option} takes whole numbers from 1 on, and got ${JSON.stringify(text)}.`);
}
