// Runs vitest for `run.ts`, in a process of its own: vitest ends its process at once on a signal, and servers must be stopped.
// Arguments are those of `vitest run`; the counts go to the parent process.
import { parseCLI, startVitest, type TestModule, type Vitest } from 'vitest/node';
import type { SuiteCounts } from './suite-counts.ts';

process.send?.(await runSuite(process.argv.slice(2)));
process.disconnect?.();

async function runSuite(args: readonly string[]): Promise<SuiteCounts> {
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
