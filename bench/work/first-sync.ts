import { join } from 'node:path';
import { atMost, figureOf } from '../figure.ts';
import { install, runLeadsync } from '../leadsync-under-test.ts';
import type { Use } from '../process-use.ts';
import { runReference } from '../reference-process.ts';
import { settleDisk } from '../servers.ts';
import { inTurns, newFolder, type Work, type Workbench } from '../workbench.ts';

/** What a program used, and what PostgreSQL did for it. */
interface Stored extends Use {
  readonly postgresCpuMs: number;
  readonly storedMb: number;
  readonly writtenAheadMb: number;
}

/** Row 1: everything that is listed comes into PostgreSQL for the first time. */
export const firstSync: Work = {
  number: 1,
  name: 'first sync',
  measure: async (workbench) => {
    const leads = workbench.quick ? 10_000 : 100_000;
    await workbench.world.show({ leads });
    const results = await inTurns(workbench, {
      leadsync: () => stored(workbench, leads, 'leadsync', () => leadsyncRun(workbench, {})),
      withoutMirror: () =>
        stored(workbench, leads, 'leadsync', () => leadsyncRun(workbench, { mirror: false })),
      plain: () => stored(workbench, leads, 'plain', () => plainRun(workbench)),
      floor: () => stored(workbench, leads, 'leadsync', () => floorRun(workbench)),
    });
    const { leadsync, withoutMirror, plain, floor } = results;
    const programs = { leadsync, 'plain script': plain };
    const without = { leadsync: withoutMirror, 'plain script': plain };
    return {
      title: `First sync of ${leads.toLocaleString('en')} leads into PostgreSQL, with every default`,
      figures: [
        figureOf('wall', 's', { ...programs, floor }, wall, [atMost(1, 'plain script')]),
        figureOf('CPU, with PostgreSQL', 's', programs, cpu, [atMost(1.5, 'plain script')]),
        figureOf("of it PostgreSQL's", 's', programs, ({ postgresCpuMs }) => postgresCpuMs / 1000),
        figureOf('peak memory', 'MB', programs, ({ peakMb }) => peakMb, [atMost(200)]),
        figureOf('PostgreSQL on disk', 'MB', programs, ({ storedMb }) => storedMb, [
          atMost(1.5, 'plain script'),
        ]),
        figureOf('write-ahead log', 'MB', programs, ({ writtenAheadMb }) => writtenAheadMb),
        figureOf('`mirror: false`, wall', 's', { ...without, floor }, wall),
        figureOf('`mirror: false`, CPU, with PostgreSQL', 's', without, cpu),
        figureOf('`mirror: false`, peak memory', 'MB', without, ({ peakMb }) => peakMb),
        figureOf('`mirror: false`, PostgreSQL on disk', 'MB', without, ({ storedMb }) => storedMb),
      ],
      series: [],
      notes: [
        'Each is a process from its start to its end, on an empty database. None of the references brings what the mirror does: polls, deliveries, attempts and versions.',
        'The floor is transfer, `JSON.parse`, COPY to a temporary table and INSERT … ON CONFLICT of the very rows of leads that leadsync stores, their answers among them; the time in which its rows are made is left out.',
        'The plain script stores the typed fields and the answers, and neither the raw JSON nor hash, versions and times.',
      ],
    };
  },
};

const wall = ({ wallMs }: Stored) => wallMs / 1000;
const cpu = ({ cpuMs, postgresCpuMs }: Stored) => (cpuMs + postgresCpuMs) / 1000;

async function leadsyncRun(workbench: Workbench, options: Readonly<Record<string, unknown>>): Promise<Use> {
  const { url } = await workbench.servers.database();
  const warehouse = { type: 'postgres', url, ...options };
  return runLeadsync(workbench, await install(workbench, { sinks: { warehouse } }), ['sync']);
}

async function plainRun(workbench: Workbench): Promise<Use> {
  const { url } = await workbench.servers.database();
  return runReference('plain-script', {
    'base-url': workbench.world.baseUrl(),
    seen: join(newFolder(workbench), 'seen.db'),
    postgres: url,
  });
}

async function floorRun(workbench: Workbench): Promise<Use> {
  const { url } = await workbench.servers.database();
  const use = await runReference('copy', { 'base-url': workbench.world.baseUrl(), postgres: url });
  return { ...use, wallMs: use.wallMs - (use.told['leftOutMs'] ?? 0) };
}

/** Runs a program on an empty database. @throws Error when it stored less than it should: such a program is not fast */
async function stored(
  { servers }: Workbench,
  leads: number,
  schema: string,
  run: () => Promise<Use>,
): Promise<Stored> {
  const database = await servers.database();
  await database.reset();
  settleDisk();
  const [cpuBeforeMs, writtenBeforeMb] = [database.cpuMs(), await database.writtenAheadMb()];
  const use = await run();
  const postgresCpuMs = database.cpuMs() - cpuBeforeMs;
  const writtenAheadMb = (await database.writtenAheadMb()) - writtenBeforeMb;
  const found = await database.count(`${schema}.leads`);
  const answers = await database.count(`${schema}.lead_answers`);
  if (found !== leads || answers < leads)
    throw new Error(`${schema} holds ${found} leads and ${answers} answers of ${leads} leads`);
  return { ...use, postgresCpuMs, writtenAheadMb, storedMb: await database.sizeMb() };
}
