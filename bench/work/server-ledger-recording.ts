import { atLeast, figureOf, type Results } from '../figure.ts';
import { install, runLeadsync } from '../leadsync-under-test.ts';
import {
  type Engine,
  type EngineUse,
  freshServer,
  ledgerIn,
  statementsOf,
  withServer,
} from '../ledger-engines.ts';
import { finishedPolls, finishedPollsOnServer } from '../ledger-times.ts';
import { inTurns, type Work, type Workbench } from '../workbench.ts';

type Recorded = EngineUse & { readonly leadsPerSecond: number };

/** Row 17: a first sync into a ledger on a server, beside one into a file. */
export const serverLedgerRecording: Work = {
  number: 17,
  name: 'recording into a ledger in PostgreSQL',
  measure: async (workbench) => {
    const leads = workbench.quick ? 10_000 : 100_000;
    await workbench.world.show({ leads });
    const { PostgreSQL, SQLite } = await inTurns(workbench, {
      PostgreSQL: () => recorded(workbench, leads, 'PostgreSQL'),
      SQLite: () => recorded(workbench, leads, 'SQLite'),
    });
    const statements = await statementsOf(
      { ...workbench, env: {} },
      { name: 'statements for 1,000 leads', leads },
      async (ledger) => runLeadsync(workbench, await install(workbench, ledger), ['sync']),
    );
    const results: Results<Recorded> = { leadsync: PostgreSQL, 'ledger in SQLite': SQLite };
    const server = { leadsync: PostgreSQL };
    return {
      title: `First sync of ${leads.toLocaleString('en')} leads into a ledger in PostgreSQL`,
      figures: [
        figureOf('rate', 'leads/s', results, ({ leadsPerSecond }) => leadsPerSecond, [
          atLeast(0.5, 'ledger in SQLite'),
        ]),
        figureOf('CPU time of leadsync', 's', results, ({ cpuMs }) => cpuMs / 1000),
        figureOf('CPU time of PostgreSQL', 's', server, ({ serverCpuMs }) => serverCpuMs / 1000),
        figureOf('peak memory of leadsync', 'MB', results, ({ peakMb }) => peakMb),
        figureOf('write-ahead log', 'MB', server, ({ writtenAheadMb }) => writtenAheadMb),
        figureOf(
          'transactions for 1,000 leads',
          '',
          server,
          ({ transactions }) => (transactions / leads) * 1000,
        ),
        ...statements,
      ],
      series: [],
      notes: [
        'There is no sink. The rate is that of the poll alone, from the table `polls`. CPU time and memory are those of the whole process.',
        'PostgreSQL, leadsync and the service share the cores of the machine.',
      ],
    };
  },
};

async function recorded(workbench: Workbench, leads: number, engine: Engine): Promise<Recorded> {
  await freshServer(workbench);
  const installed = await install(workbench, await ledgerIn(workbench, engine));
  const use = await withServer(workbench, () => runLeadsync(workbench, installed, ['sync']));
  const polls =
    engine === 'SQLite' ? finishedPolls(installed.dataDir) : await finishedPollsOnServer(workbench);
  const [poll] = polls;
  if (poll?.leads_new !== leads) throw new Error(`leadsync found ${poll?.leads_new} of ${leads} leads`);
  return { ...use, leadsPerSecond: (leads / (poll.finished_at - poll.started_at)) * 1000 };
}
