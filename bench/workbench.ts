import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { Row } from './report/report.ts';
import type { Servers } from './servers.ts';
import type { World } from './world.ts';

/** One piece of work that is measured: a row of the table. */
export interface Work {
  readonly number: number;
  /** A word or two, for the progress. */
  readonly name: string;
  measure(workbench: Workbench): Promise<Omit<Row, 'number'>>;
}

/** What a piece of work is measured with. */
export interface Workbench {
  readonly world: World;
  readonly servers: Servers;
  /** For files; each taker makes its own folder in it, by `newFolder`. */
  readonly folder: string;
  readonly quick: boolean;
  /** How often each program runs. */
  readonly runs: number;
  /** Beside leadsync's own environment: what makes it write CPU profiles. */
  readonly env: Readonly<Record<string, string>>;
  /** Shows a line of progress. */
  tell(text: string): void;
}

/** A new empty folder of the workbench. */
export function newFolder({ folder }: Pick<Workbench, 'folder'>): string {
  return mkdtempSync(join(folder, 'run-'));
}

/**
 * Runs several programs in turns, A B C A B C …, so that whatever slows the machine for a while slows all of them.
 * @returns each program's results, one a run
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
