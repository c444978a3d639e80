import { join } from 'node:path';
import { atMost, figureOf } from '../figure.ts';
import { install, runLeadsync, webhookTo } from '../leadsync-under-test.ts';
import { settleDisk } from '../servers.ts';
import { inTurns, newFolder, type Work, type Workbench } from '../workbench.ts';

/** Row 13: the size of PostgreSQL and its work for a first sync to four sinks, with the mirror. */
export const fourSinks: Work = {
  number: 13,
  name: 'four sinks',
  measure: async (workbench) => {
    const leads = workbench.quick ? 10_000 : 200_000;
    await workbench.world.show({ leads });
    const results = await inTurns(workbench, { leadsync: () => measured(workbench, leads) });
    return {
      title: `PostgreSQL after a first sync of ${leads.toLocaleString('en')} leads to four sinks`,
      figures: [
        figureOf('size in PostgreSQL', 'MB', results, ({ storedMb }) => storedMb, [atMost(300)]),
        figureOf('write-ahead log', 'MB', results, ({ writtenAheadMb }) => writtenAheadMb, [atMost(600)]),
        figureOf('CPU time of PostgreSQL', 's', results, ({ cpuMs }) => cpuMs / 1000),
      ],
      series: [],
      notes: [
        'The sinks are PostgreSQL with default options, a webhook, CSV files and Parquet files. The mirror stores every delivery and attempt of all four.',
      ],
    };
  },
};

async function measured(workbench: Workbench, leads: number) {
  const database = await workbench.servers.database();
  await database.reset();
  settleDisk();
  const folder = newFolder(workbench);
  const sinks = {
    warehouse: { type: 'postgres', url: database.url },
    hook: webhookTo(workbench.world.receiverUrl),
    files: { type: 'csv', directory: join(folder, 'csv') },
    lake: { type: 'parquet', directory: join(folder, 'parquet') },
  };
  const [cpuBeforeMs, writtenBeforeMb] = [database.cpuMs(), await database.writtenAheadMb()];
  await runLeadsync(workbench, await install(workbench, { sinks }), ['sync']);
  const deliveries = await database.count('leadsync.deliveries');
  if (deliveries !== 4 * leads) throw new Error(`PostgreSQL has ${deliveries} of ${4 * leads} deliveries`);
  return {
    storedMb: await database.sizeMb(),
    writtenAheadMb: (await database.writtenAheadMb()) - writtenBeforeMb,
    cpuMs: database.cpuMs() - cpuBeforeMs,
  };
}
