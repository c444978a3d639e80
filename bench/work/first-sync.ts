import { join } from 'node:path';
import { atMost, figureOf } from '../figure.ts';
import { install, runLeadsync } from '../leadsync-under-test.ts';
import type { Use } from '../process-use.ts';
import { runReference } from '../reference-process.ts';
import { settleDisk } from '../servers.ts';
import { inTurns, newFolder, type Work, type Workbench } from '../workbench.ts';

/** The resources that a program used, and those that PostgreSQL used for it. */
interface Stored extends Use {
  readonly postgresCpuMs: number;
  readonly storedMb: number;
  readonly writtenAheadMb: number;
}

/** Row 1: a first sync of a listing into PostgreSQL. */
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
      title: `First sync of ${leads.toLocaleString('en')} leads into PostgreSQL with default options`,
      figures: [
        figureOf('wall time', 's', { ...programs, floor }, wall, [atMost(1, 'plain script')]),
        figureOf('CPU time, including PostgreSQL', 's', programs, cpu, [atMost(1.5, 'plain script')]),
        figureOf('CPU time of PostgreSQL', 's', programs, ({ postgresCpuMs }) => postgresCpuMs / 1000),
        figureOf('peak memory', 'MB', programs, ({ peakMb }) => peakMb, [atMost(200)]),
        figureOf('size in PostgreSQL', 'MB', programs, ({ storedMb }) => storedMb, [
          atMost(1.5, 'plain script'),
        ]),
        figureOf('write-ahead log', 'MB', programs, ({ writtenAheadMb }) => writtenAheadMb),
        figureOf('`mirror: false`: wall time', 's', { ...without, floor }, wall),
        figureOf('`mirror: false`: CPU time, including PostgreSQL', 's', without, cpu),
        figureOf('`mirror: false`: peak memory', 'MB', without, ({ peakMb }) => peakMb),
        figureOf('`mirror: false`: size in PostgreSQL', 'MB', without, ({ storedMb }) => storedMb),
      ],
      series: [],
      notes: [
        'Each program is measured from the start of its process to its end, on an empty database. No reference stores what the mirror stores: polls, deliveries, attempts and versions.',
        'The floor is a lower bound: transfer, `JSON.parse`, COPY to a temporary table and INSERT … ON CONFLICT of the same rows of `leads` that leadsync stores, including the answers. It excludes the time to build the rows.',
        'The plain script stores the typed fields and the answers, but no raw JSON, hashes, versions or times.',
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
  return { ...use, wallMs: use.wallMs - (use.result['excludedMs'] ?? 0) };
}

/** Measures a program on an empty database. @throws Error if it did not store every lead with its answers */
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
