import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { Row } from './report/report.ts';
import type { Servers } from './servers.ts';
import type { World } from './world.ts';

/** A row of the table: one kind of work, and its measurement. */
export interface Work {
  readonly number: number;
  /** A short name for the progress output. */
  readonly name: string;
  measure(workbench: Workbench): Promise<Omit<Row, 'number'>>;
}

/** The environment of a measurement. */
export interface Workbench {
  readonly world: World;
  readonly servers: Servers;
  /** The folder for files. `newFolder` creates a subfolder for each use. */
  readonly folder: string;
  readonly quick: boolean;
  /** Runs of each program. */
  readonly runs: number;
  /** Additional environment variables of leadsync, which make it write CPU profiles. */
  readonly env: Readonly<Record<string, string>>;
  /** Shows a line of progress. */
  tell(text: string): void;
}

/** Creates an empty folder in the folder of the workbench. */
export function newFolder({ folder }: Pick<Workbench, 'folder'>): string {
  return mkdtempSync(join(folder, 'run-'));
}

/**
 * Runs several programs in turns, A B C A B C …, so that a slow phase of the machine affects all of them.
 * @returns the results of each program, one for each run
 */
export async function inTurns<Name extends string, Result>(
  workbench: Workbench,
  programs: Readonly<Record<Name, () => Promise<Result>>>,
): Promise<Record<Name, Result[]>> {
  const names = Object.keys(programs) as Name[];
  const results = Object.fromEntries(names.map((name) => [name, [] as Result[]])) as Record<Name, Result[]>;
  for (let run = 1; run <= workbench.runs; run += 1) {
    for (const name of names) {
      workbench.tell(`run ${run} of ${workbench.runs}: ${name}`);
      results[name].push(await programs[name]());
    }
  }
  return results;
}
