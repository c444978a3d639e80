import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/support/server-process.ts';
import { atLeast, atMost, figureOf } from '../figure.ts';
import { copyOf } from '../known-leads.ts';
import { type Install, install, runLeadsync, webhookTo, whileRunning } from '../leadsync-under-test.ts';
import { deliveryTimes } from '../ledger-times.ts';
import { peakMbOf } from '../process-use.ts';
import { inTurns, type Work, type Workbench } from '../workbench.ts';

const LOOK_MS = 200;
const LONGEST_DRAIN_MS = 600_000;

interface Drained {
  readonly hookPerSecond: number;
  readonly warehousePerSecond: number;
  readonly peakMb: number;
  readonly redisMb: number;
}

/** Row 8: whether a sink that is down costs the others anything. */
export const backlog: Work = {
  number: 8,
  name: 'backlog',
  measure: async (workbench) => {
    const leads = workbench.quick ? 3_000 : 66_667;
    const down = webhookTo(`http://127.0.0.1:${await freePort()}/`);
    const withDown = await prepare(workbench, leads, { down });
    const without = await prepare(workbench, leads, {});
    const results = await inTurns(workbench, {
      leadsync: () => drain(workbench, withDown, leads),
      'without the third sink': () => drain(workbench, without, leads),
    });
    const alone = 'without the third sink';
    return {
      title: `A backlog of ${(3 * leads).toLocaleString('en')} deliveries over three sinks, one of them down, with BullMQ`,
      figures: [
        figureOf('webhook', 'leads/s', results, (d) => d.hookPerSecond, [atLeast(0.95, alone)]),
        figureOf('PostgreSQL', 'leads/s', results, (d) => d.warehousePerSecond, [atLeast(0.95, alone)]),
        figureOf('peak memory', 'MB', results, (d) => d.peakMb, [atMost(1.2, alone)]),
        figureOf("Redis's memory, at the most", 'MB', results, (d) => d.redisMb, [atMost(1.2, alone)]),
      ],
      series: [],
      notes: [
        'The rates are those of a webhook at concurrency 50 and of PostgreSQL, from the first attempt to the last settled delivery, while both drain at once.',
        '"Not slower" and "bounded" are read as within 5 % and within 20 % of the same run without the sink that is down.',
      ],
    };
  },
};

interface Prepared {
  readonly install: Install;
  readonly sinks: Readonly<Record<string, unknown>>;
}

/** A ledger in which every lead is owed to every sink. */
async function prepare(
  workbench: Workbench,
  leads: number,
  more: Readonly<Record<string, unknown>>,
): Promise<Prepared> {
  const { world, servers } = workbench;
  const quiet = { ...workbench, env: {} };
  workbench.tell('preparing a backlog');
  const { url } = await servers.database();
  const sinks = {
    hook: webhookTo(world.receiverUrl),
    warehouse: { type: 'postgres', url, mirror: false },
    ...more,
  };
  const prepared = await install(workbench, { sinks });
  // The first sync, of nothing, makes the ledger know its sinks; then they are paused, and the second one fills it.
  await world.show({ leads: 0 });
  await runLeadsync(quiet, prepared, ['sync']);
  for (const sink of Object.keys(sinks)) await runLeadsync(quiet, prepared, ['pause', sink]);
  await world.show({ leads });
  await runLeadsync(quiet, prepared, ['sync'], { exitCode: 1 });
  for (const sink of Object.keys(sinks)) await runLeadsync(quiet, prepared, ['resume', sink]);
  return { install: prepared, sinks };
}

async function drain(
  workbench: Workbench,
  { install: prepared, sinks }: Prepared,
  leads: number,
): Promise<Drained> {
  const { world, servers } = workbench;
  const [database, redis] = [await servers.database(), await servers.redis()];
  await database.reset();
  await redis.reset();
  await world.reset();
  const copy = await copyOf(workbench, prepared, { sinks, redisUrl: redis.url, every: '1h' });
  const peaks = await whileRunning(workbench, copy, async ({ process: { pid } }) => {
    let redisMb = 0;
    const deadlineMs = performance.now() + LONGEST_DRAIN_MS;
    while ((await world.arrivals()).leads < leads || (await database.count('leadsync.leads')) < leads) {
      if (performance.now() > deadlineMs) throw new Error('the backlog did not drain');
      redisMb = Math.max(redisMb, await redis.usedMb());
      await sleep(LOOK_MS);
    }
    return { redisMb, peakMb: peakMbOf(pid) ?? 0 };
  });
  return {
    ...peaks,
    hookPerSecond: rate(copy, 'hook', leads),
    warehousePerSecond: rate(copy, 'warehouse', leads),
  };
}

function rate({ dataDir }: Install, sink: string, leads: number): number {
  const { firstAt, lastAt, delivered } = deliveryTimes(dataDir, sink);
  if (delivered !== leads) throw new Error(`${delivered} of ${leads} leads were delivered to ${sink}`);
  return (leads / (lastAt - firstAt)) * 1000;
}
