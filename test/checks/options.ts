import { parseArgs } from 'node:util';
import type { Safeguard } from './safeguard.ts';
import { safeguards } from './safeguards.ts';

export const USAGE = `npm run test:checks [-- [--only WORD …] [--write]]

Removes one safeguard at a time from a copy of the project, and shows which test then fails.

  --only WORD   those whose name has this word in it; more than once: any of the words
  --write       keeps the result of all of them in docs/safeguards.md; not with --only
  --help        this text

Needs redis-server and PostgreSQL on the machine, and starts its own. Exit code 0: every removal was noticed; 1: not;
2: wrong usage.
`;

export interface CheckOptions {
  /** What is removed, one after the other. */
  readonly chosen: readonly Safeguard[];
  readonly write: boolean;
}

/** Reads the command line. Gives 'help' when that is asked for. @throws Error that says what is wrong */
export function readOptions(args: readonly string[]): CheckOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true, default: [] },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { only, write, help } = values;
  if (help) return 'help';
  if (only.length > 0 && write)
    throw new Error(
      '--write keeps the result of all safeguards, and --only takes some: leave out one of them.',
    );
  const isIn = (word: string) => safeguards.some(({ name }) => name.includes(word));
  const absent = only.find((word) => !isIn(word));
  if (absent !== undefined) throw new Error(`No safeguard has "${absent}" in its name.`);
  const chosen = safeguards.filter(
    ({ name }) => only.length === 0 || only.some((word) => name.includes(word)),
  );
  return { chosen, write };
}
