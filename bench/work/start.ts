import { startLeadsync } from '../../test/support/program/leadsync.ts';
import { installedProgram } from '../built-program.ts';
import { atMost, figureOf } from '../figure.ts';
import { leadsyncThatKnows } from '../known-leads.ts';
import { type Install, install, runLeadsync } from '../leadsync-under-test.ts';
import { settleDisk } from '../servers.ts';
import { inTurns, type Work, type Workbench } from '../workbench.ts';

const RETRY_MS = 2;
const LONGEST_START_MS = 60_000;

/** Row 9: how long a daemon with a large ledger takes to become ready. */
export const start: Work = {
  number: 9,
  name: 'start',
  measure: async (workbench) => {
    const leads = workbench.quick ? 50_000 : 1_000_000;
    const known = await leadsyncThatKnows(workbench, leads);
    const empty = await install(workbench);
    await workbench.world.show({ leads: 0 });
    await runLeadsync({ ...workbench, env: {} }, empty, ['sync']);
    const results = await inTurns(workbench, {
      leadsync: () => startOf(workbench, known),
      'an empty ledger': () => startOf(workbench, empty),
    });
    return {
      title: `Start of the daemon with ${leads.toLocaleString('en')} known leads, until it is ready`,
      figures: [figureOf('wall time', 's', results, (ms) => ms / 1000, [atMost(1)])],
      series: [],
      notes: [
        'The time is from the start of the process to the first successful answer of `/readyz`. The file of the ledger is in the page cache.',
      ],
    };
  },
};

async function startOf(workbench: Workbench, { configFile, adminUrl }: Install): Promise<number> {
  const { env } = workbench;
  const program = await installedProgram(workbench);
  settleDisk();
  const startMs = performance.now();
  const daemon = startLeadsync(['run', '-c', configFile], { program, env });
  try {
    while (!(await isReady(adminUrl))) {
      if (performance.now() - startMs > LONGEST_START_MS)
        throw new Error(`leadsync did not become ready.\n${daemon.stderr}`);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    return performance.now() - startMs;
  } finally {
    await daemon.kill();
  }
}

async function isReady(adminUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${adminUrl}/readyz`);
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false; // the daemon does not listen yet
  }
}
