import { globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

export const USAGE = `npm test [-- [WORD …] [-t NAME] [--bail N] [--reporter R] [--maxWorkers N]]

Runs the tests against a Redis, a PostgreSQL and a MariaDB: those of REDIS_URL, DATABASE_URL and MYSQL_URL, or servers of its
own. The pages are tested in Chromium: that of CHROMIUM, or the system's.

  WORD           only files with one of these words in their path: test/ledger, redis.test
  -t NAME        only tests whose full name matches this regular expression: -t "^12"
  --bail N       stops after N failures
  --reporter R   a reporter of vitest: verbose, dot, json
  --maxWorkers N runs at most N files at a time
  --in FOLDER    only files in this folder, whatever the words
  --help         shows this text

Without WORD and --in, each fault is tested with one of the two carriers, alternately. \`npm run test:faults\` tests each with both.

The last line is \`123 passed, 0 failed\`. Exit code 0: some passed, and none failed; 1: not; 2: wrong usage.
`;

export interface RunOptions {
  /** The files to run; empty: all. */
  readonly files: readonly string[];
  /** Whether tests of faults run over one carrier each. */
  readonly byTurns: boolean;
  /** Options for vitest. */
  readonly vitest: readonly string[];
}

/** Builds a release and installs it, which takes minutes: `npm run test:install`, and not a part of `npm test`. */
const APART = 'test/install';
const ROOT = resolve(import.meta.dirname, '..');

/** Reads the command line. Gives 'help' when that is asked for. @throws Error that says what is wrong */
export function readOptions(args: readonly string[]): RunOptions | 'help' {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      testNamePattern: { type: 'string', short: 't' },
      bail: { type: 'string' },
      reporter: { type: 'string' },
      maxWorkers: { type: 'string' },
      in: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const { help, in: folder, ...forVitest } = values;
  if (help) return 'help';
  const everything = folder === undefined && positionals.length === 0;
  return {
    byTurns: everything,
    files: everything ? [] : filesWith(positionals, folder ?? 'test'),
    vitest: [
      ...Object.entries(forVitest).map(([option, value]) => `--${option}=${value}`),
      ...(everything ? [`--exclude=${APART}/**`] : []),
    ],
  };
}

/** A word that no file has would leave out nothing, or everything. @throws Error */
function filesWith(words: readonly string[], folder: string): string[] {
  const files = globSync(join(folder, '**/*.test.ts'), { cwd: ROOT });
  if (files.length === 0) throw new Error(`There is no test file in ${folder}.`);
  const matches = (file: string, word: string) =>
    file.includes(word.replace(/^\.\//, '')) || join(ROOT, file).startsWith(resolve(word));
  const unknown = words.filter((word) => !files.some((file) => matches(file, word)));
  if (unknown.length > 0)
    throw new Error(
      `No test file in ${folder} has ${unknown.map((word) => `"${word}"`).join(' or ')} in its path.`,
    );
  const chosen = files.filter((file) => words.length === 0 || words.some((word) => matches(file, word)));
  return chosen.map((file) => join(ROOT, file)).sort();
}
