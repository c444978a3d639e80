import { parseCLI, startVitest, type TestModule, type Vitest } from 'vitest/node';

/** How the suite went. */
export interface SuiteCounts {
  readonly passed: number;
  /** Tests that failed, and whatever else went wrong: files that could not be loaded, hooks, errors outside of tests. */
  readonly failed: number;
  readonly skipped: number;
  /** Something ran, and nothing failed or was left out unasked. */
  readonly ok: boolean;
}

/** Runs vitest with the arguments of its command line, and counts. */
export async function runSuite(args: readonly string[]): Promise<SuiteCounts> {
  const { filter, options } = parseCLI(['vitest', 'run', ...args]);
  const vitest = await startVitest('test', filter, { ...options, watch: false });
  const counts = { passed: 0, failed: brokenParts(vitest), skipped: 0 };
  for (const module of vitest.state.getTestModules()) {
    for (const test of module.children.allTests()) counts[outcome(test.result().state)]++;
  }
  await vitest.close();
  const onlySome = options.testNamePattern !== undefined;
  const ok = counts.failed === 0 && counts.passed > 0 && (onlySome || counts.skipped === 0);
  return { ...counts, ok };
}

/** `123 passed, 0 failed`, and what was skipped when something was. */
export function summary({ passed, failed, skipped }: SuiteCounts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/** What goes wrong without failing a test of its own. */
function brokenParts(vitest: Vitest): number {
  const modules = vitest.state.getTestModules();
  return modules.filter(isBroken).length + vitest.state.getUnhandledErrors().length;
}

function isBroken(module: TestModule): boolean {
  const suites = [...module.children.allSuites()];
  return module.errors().length > 0 || suites.some((suite) => suite.errors().length > 0);
}

function outcome(state: 'passed' | 'failed' | 'skipped' | 'pending'): 'passed' | 'failed' | 'skipped' {
  // A test that is still pending when the run is over never ran.
  return state === 'pending' ? 'skipped' : state;
}
