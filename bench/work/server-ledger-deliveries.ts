import { atLeast, figureOf } from '../figure.ts';
import { type Install, install, runLeadsync, type Wanted, webhookTo } from '../leadsync-under-test.ts';
import {
  type Engine,
  type EngineUse,
  freshServer,
  ledgerIn,
  statementsOf,
  withServer,
} from '../ledger-engines.ts';
import { inTurns, type Work, type Workbench } from '../workbench.ts';
import { type Sent, sent } from './webhooks.ts';

type Delivered = Sent & EngineUse;

/** Row 18: a first sync to a webhook with a ledger on a server, beside one with a ledger in a file. */
export const serverLedgerDeliveries: Work = {
  number: 18,
  name: 'webhooks with a ledger in PostgreSQL',
  measure: async (workbench) => {
    const leads = workbench.quick ? 4_000 : 10_000;
    await workbench.world.show({ leads });
    const redis = await workbench.servers.redis();
    const delivered = (engine: Engine, redisUrl?: string) => async () => {
      await redis.reset();
      return deliver(workbench, leads, engine, redisUrl);
    };
    const { inProcess, bullmq, inProcessOfFile, bullmqOfFile } = await inTurns(workbench, {
      inProcess: delivered('PostgreSQL'),
      inProcessOfFile: delivered('SQLite'),
      bullmq: delivered('PostgreSQL', redis.url),
      bullmqOfFile: delivered('SQLite', redis.url),
    });
    const statements = await statementsOf(
      { ...workbench, env: {} },
      { name: 'in-process: statements for 1,000 leads', leads },
      async (ledger) => runLeadsync(workbench, await installed(workbench, ledger), ['sync']),
    );
    const figures = (
      carrier: string,
      leadsync: readonly Delivered[],
      ofFile: readonly Delivered[],
      least: number,
    ) => {
      const both = { leadsync, 'ledger in SQLite': ofFile };
      return [
        figureOf(`${carrier}: rate`, 'leads/s', both, ({ leadsPerSecond }) => leadsPerSecond, [
          atLeast(least, 'ledger in SQLite'),
        ]),
        figureOf(`${carrier}: CPU time of leadsync`, 's', both, ({ cpuMs }) => cpuMs / 1000),
        figureOf(
          `${carrier}: CPU time of PostgreSQL`,
          's',
          { leadsync },
          ({ serverCpuMs }) => serverCpuMs / 1000,
        ),
        figureOf(`${carrier}: peak memory of leadsync`, 'MB', both, ({ peakMb }) => peakMb),
        figureOf(`${carrier}: write-ahead log`, 'MB', { leadsync }, ({ writtenAheadMb }) => writtenAheadMb),
        figureOf(
          `${carrier}: transactions for 1,000 leads`,
          '',
          { leadsync },
          ({ transactions }) => (transactions / leads) * 1000,
        ),
      ];
    };
    return {
      title: `${leads.toLocaleString('en')} leads to a webhook with a ledger in PostgreSQL, one request each, concurrency 50`,
      figures: [
        ...figures('in-process', inProcess, inProcessOfFile, 0.6),
        ...statements,
        ...figures('BullMQ', bullmq, bullmqOfFile, 0.6),
      ],
      series: [],
      notes: [
        'The rate is measured at the receiver, from the first request to the last. Everything else covers the whole process, including its start and the listing.',
      ],
    };
  },
};

async function deliver(
  workbench: Workbench,
  leads: number,
  engine: Engine,
  redisUrl: string | undefined,
): Promise<Delivered> {
  await freshServer(workbench);
  const carrier = redisUrl === undefined ? {} : { redisUrl };
  const ready = await installed(workbench, { ...(await ledgerIn(workbench, engine)), ...carrier });
  return sent(workbench, leads, () => withServer(workbench, () => runLeadsync(workbench, ready, ['sync'])));
}

function installed(workbench: Workbench, wanted: Wanted): Promise<Install> {
  const hook = webhookTo(workbench.world.receiverUrl);
  return install(workbench, { sinks: { hook }, ...wanted });
}
