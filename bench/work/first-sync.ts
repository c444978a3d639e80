import { join } from 'node:path';
import { atMost, figureOf } from '../figure.ts';
import { install, runLeadsync } from '../leadsync-under-test.ts';
import { runReference } from '../reference-process.ts';
import { settleDisk } from '../servers.ts';
import { inTurns, newFolder, type Work, type Workbench } from '../workbench.ts';

/** Row 1: everything that is listed comes into PostgreSQL for the first time. */
export const firstSync: Work = {
  number: 1,
  name: 'first sync',
  measure: async (workbench) => {
    const leads = workbench.quick ? 10_000 : 100_000;
    await workbench.world.show({ leads });
    const results = await inTurns(workbench, {
      leadsync: () => leadsyncRun(workbench, leads),
      'plain script': () => plainRun(workbench, leads),
      floor: () => floorRun(workbench, leads),
    });
    const { floor: _, ...scripts } = results;
    return {
      title: `First sync of ${leads.toLocaleString('en')} leads into PostgreSQL, leads and answers`,
      figures: [
        figureOf('wall', 's', results, ({ wallMs }) => wallMs / 1000, [
          atMost(0.75, 'plain script'),
          atMost(1.3, 'floor'),
        ]),
        figureOf('CPU', 's', scripts, ({ cpuMs }) => cpuMs / 1000),
        figureOf('peak memory', 'MB', scripts, ({ peakMb }) => peakMb, [atMost(0.3, 'plain script')]),
        figureOf('PostgreSQL on disk', 'MB', scripts, ({ storedMb }) => storedMb),
      ],
      series: [],
      notes: [
        'Each is a process from its start to its end, on an empty database. The mirror of polls, deliveries and attempts is off: none of the references brings those.',
        'The floor is transfer, `JSON.parse`, COPY to temporary tables and INSERT … ON CONFLICT of the very rows that leadsync stores; the time in which its rows are made is left out.',
        'The plain script stores the typed fields and the answers, and neither the raw JSON nor hash, versions and times.',
      ],
    };
  },
};

async function leadsyncRun(workbench: Workbench, leads: number) {
  const database = await emptyDatabase(workbench);
  const warehouse = { type: 'postgres', url: database.url, mirror: false };
  const use = await runLeadsync(workbench, await install(workbench, { sinks: { warehouse } }), ['sync']);
  await expectLeads(workbench, 'leadsync', leads);
  return { ...use, storedMb: await database.sizeMb() };
}

async function plainRun(workbench: Workbench, leads: number) {
  const database = await emptyDatabase(workbench);
  const use = await runReference('plain-script', {
    'base-url': workbench.world.baseUrl(),
    seen: join(newFolder(workbench), 'seen.db'),
    postgres: database.url,
  });
  await expectLeads(workbench, 'plain', leads);
  return { ...use, storedMb: await database.sizeMb() };
}

async function floorRun(workbench: Workbench, leads: number) {
  const database = await emptyDatabase(workbench);
  const use = await runReference('copy', {
    'base-url': workbench.world.baseUrl(),
    postgres: database.url,
  });
  await expectLeads(workbench, 'leadsync', leads);
  const wallMs = use.wallMs - (use.told['leftOutMs'] ?? 0);
  return { ...use, wallMs, storedMb: await database.sizeMb() };
}

async function emptyDatabase({ servers }: Workbench) {
  const database = await servers.database();
  await database.reset();
  settleDisk();
  return database;
}

/** A program that stores less than it should is not fast. */
async function expectLeads({ servers }: Workbench, schema: string, leads: number): Promise<void> {
  const database = await servers.database();
  const stored = await database.count(`${schema}.leads`);
  const answers = await database.count(`${schema}.lead_answers`);
  if (stored !== leads || answers < leads)
    throw new Error(`${schema} holds ${stored} leads and ${answers} answers of ${leads} leads`);
}
