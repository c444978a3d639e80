import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { installedProgram } from '../built-program.ts';
import { atMost, figureOf } from '../figure.ts';
import { install, runLeadsync } from '../leadsync-under-test.ts';
import { inTurns, type Work, type Workbench } from '../workbench.ts';

const REFERENCE = '`node -e 0`';

/** Row 14: how long a command takes from its start to its end. */
export const commandStart: Work = {
  number: 14,
  name: 'command start',
  measure: async (workbench) => {
    const program = await installedProgram(workbench);
    await workbench.world.show({ leads: 100 });
    const installed = await install(workbench);
    await runLeadsync({ ...workbench, env: {} }, installed, ['sync']);
    const status = [program, 'status', '-c', installed.configFile];
    const help = [program, '--help'];
    // The first start fills the compile cache that later ones use.
    for (const words of [status, help]) await startOf(workbench, words);
    const results = await inTurns(
      { ...workbench, runs: workbench.runs * 5 },
      {
        status: () => startOf(workbench, status),
        help: () => startOf(workbench, help),
        node: () => startOf(workbench, ['-e', '0']),
      },
    );
    const figure = (name: string, leadsync: readonly number[]) =>
      figureOf(name, 'ms', { leadsync, [REFERENCE]: results.node }, (ms) => ms, [atMost(3, REFERENCE)]);
    return {
      title: 'Duration of a short command, from its start to its end',
      figures: [figure('`leadsync status`', results.status), figure('`leadsync --help`', results.help)],
      series: [],
      notes: ['The program is built, as users install it, and the compile cache of Node is filled.'],
    };
  },
};

/** Returns the ms that a Node program takes from its start to its end. @throws Error if it fails */
async function startOf({ env }: Workbench, words: readonly string[]): Promise<number> {
  const startMs = performance.now();
  const child = spawn(process.execPath, ['--max-semi-space-size=8', ...words], {
    env: { ...process.env, ...env },
    stdio: 'ignore',
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`node ${words.join(' ')} ended with ${code}`);
  return performance.now() - startMs;
}
