import { until } from '../../test/support/time/until.ts';
import { atLeast, figureOf } from '../figure.ts';
import {
  defaultWebhookTo,
  type Install,
  install,
  runLeadsync,
  type Wanted,
  whileRunning,
} from '../leadsync-under-test.ts';
import { freshServer, ledgerIn, type ServerUse, withServer } from '../ledger-engines.ts';
import { cpuMsOf } from '../process-use.ts';
import { inTurns, type Work, type Workbench } from '../workbench.ts';

const ANSWER_MS = 20;
const LONGEST_DRAIN_MS = 600_000;

interface Drained extends ServerUse {
  readonly leadsPerSecond: number;
  readonly cpuMs: number;
}

/** Row 20: several processes, as of several machines, that deliver from one ledger to a receiver that takes its time. */
export const serverLedgerProcesses: Work = {
  number: 20,
  name: 'several processes with a ledger in PostgreSQL',
  measure: async (workbench) => {
    const leads = workbench.quick ? 2_000 : 20_000;
    const drained = (processes: number) => () => drain(workbench, leads, processes);
    const { one, two, four } = await inTurns(workbench, {
      one: drained(1),
      two: drained(2),
      four: drained(4),
    });
    const figures = (processes: string, leadsync: readonly Drained[], least?: number) => [
      figureOf(
        `${processes}: rate`,
        'leads/s',
        { leadsync, ...(least && { 'one process': one }) },
        ({ leadsPerSecond }) => leadsPerSecond,
        least ? [atLeast(least, 'one process')] : [],
      ),
      figureOf(`${processes}: CPU time of leadsync`, 's', { leadsync }, ({ cpuMs }) => cpuMs / 1000),
      figureOf(
        `${processes}: CPU time of PostgreSQL`,
        's',
        { leadsync },
        ({ serverCpuMs }) => serverCpuMs / 1000,
      ),
      figureOf(
        `${processes}: transactions for 1,000 leads`,
        '',
        { leadsync },
        ({ transactions }) => (transactions / leads) * 1000,
      ),
    ];
    return {
      title: `${leads.toLocaleString('en')} leads from one ledger in PostgreSQL to a webhook that answers after ${ANSWER_MS} ms, by one, two and four processes`,
      figures: [
        ...figures('one process', one),
        ...figures('two processes', two, 1.9),
        ...figures('four processes', four, 3.6),
      ],
      series: [],
      notes: [
        'Each process has a `data_dir` of its own and default options. All run before the sink is resumed. The rate is measured at the receiver, from the first request to the last accepted lead; CPU time is that of all processes meanwhile.',
      ],
    };
  },
};

async function drain(workbench: Workbench, leads: number, processes: number): Promise<Drained> {
  const { world } = workbench;
  await freshServer(workbench);
  await world.behave({ failPercent: 0, seed: 1, delayMs: [ANSWER_MS, ANSWER_MS] });
  const wanted: Wanted = {
    sinks: { hook: defaultWebhookTo(world.flakyUrl) },
    every: '1h',
    ...(await ledgerIn(workbench, 'PostgreSQL')),
  };
  const first = await owing(workbench, leads, wanted);
  const others = Array.from({ length: processes - 1 }, () => install(workbench, wanted));
  return whileAllRun(workbench, [first, ...(await Promise.all(others))], async (pids) => {
    const cpuMs = () => pids.reduce<number>((sum, pid) => sum + cpuMsOf(pid), 0);
    const before = cpuMs();
    const use = await withServer(workbench, async () => {
      await runLeadsync({ ...workbench, env: {} }, first, ['resume', 'hook']);
      const lastAt = await until('the leads have arrived', () => world.acceptedAt(leads), LONGEST_DRAIN_MS);
      return { lastAt, cpuMs: cpuMs() - before };
    });
    const { accepted, firstRequestAt } = await world.visits();
    if (accepted !== leads || firstRequestAt === undefined)
      throw new Error(`${accepted} requests were accepted, of ${leads}`);
    return { ...use, leadsPerSecond: ((leads - 1) / (use.lastAt - firstRequestAt)) * 1000 };
  });
}

/** Returns a stopped leadsync that owes every lead to its paused sink. */
async function owing(workbench: Workbench, leads: number, wanted: Wanted): Promise<Install> {
  const quiet = { ...workbench, env: {} };
  const prepared = await install(workbench, wanted);
  await workbench.world.show({ leads: 0 });
  await runLeadsync(quiet, prepared, ['sync']);
  await runLeadsync(quiet, prepared, ['pause', 'hook']);
  await workbench.world.show({ leads });
  await runLeadsync(quiet, prepared, ['sync'], { exitCode: 1 });
  return prepared;
}

/** Runs all of them, calls `act` with their process ids once all are ready, and stops them. */
async function whileAllRun<Result>(
  workbench: Workbench,
  [first, ...others]: readonly Install[],
  act: (pids: readonly (number | undefined)[]) => Promise<Result>,
  pids: readonly (number | undefined)[] = [],
): Promise<Result> {
  if (first === undefined) return act(pids);
  return whileRunning(workbench, first, ({ process: { pid } }) =>
    whileAllRun(workbench, others, act, [...pids, pid]),
  );
}
