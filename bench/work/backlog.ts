import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/support/servers/server-process.ts';
import { atLeast, atMost, figureOf } from '../figure.ts';
import { copyOf } from '../known-leads.ts';
import { type Install, webhookTo, whileRunning } from '../leadsync-under-test.ts';
import { deliveryTimes } from '../ledger-times.ts';
import { leadsyncThatOwes, type Prepared } from '../owed-leads.ts';
import { peakMbOf } from '../process-use.ts';
import { inTurns, type Work, type Workbench } from '../workbench.ts';

const SAMPLE_MS = 200;
const LONGEST_DRAIN_MS = 600_000;

interface Drained {
  readonly hookPerSecond: number;
  readonly warehousePerSecond: number;
  readonly peakMb: number;
  readonly redisMb: number;
}

/** Row 8: whether an unavailable sink slows the others down. */
export const backlog: Work = {
  number: 8,
  name: 'backlog',
  measure: async (workbench) => {
    const leads = workbench.quick ? 3_000 : 66_667;
    const down = webhookTo(`http://127.0.0.1:${await freePort()}/`);
    const { url } = await workbench.servers.database();
    const sinks = {
      hook: webhookTo(workbench.world.receiverUrl),
      warehouse: { type: 'postgres', url, mirror: false },
    };
    const withDown = await leadsyncThatOwes(workbench, leads, { sinks: { ...sinks, down } });
    const without = await leadsyncThatOwes(workbench, leads, { sinks });
    const results = await inTurns(workbench, {
      leadsync: () => drain(workbench, withDown, leads),
      'without the third sink': () => drain(workbench, without, leads),
    });
    const alone = 'without the third sink';
    return {
      title: `Backlog of ${(3 * leads).toLocaleString('en')} deliveries to three sinks with BullMQ, one sink unavailable`,
      figures: [
        figureOf('rate of the webhook', 'leads/s', results, (d) => d.hookPerSecond, [atLeast(0.95, alone)]),
        figureOf('rate of PostgreSQL', 'leads/s', results, (d) => d.warehousePerSecond, [
          atLeast(0.95, alone),
        ]),
        figureOf('peak memory', 'MB', results, (d) => d.peakMb, [atMost(1.2, alone)]),
        figureOf('peak memory of Redis', 'MB', results, (d) => d.redisMb, [atMost(1.2, alone)]),
      ],
      series: [],
      notes: [
        'The rates are those of a webhook with concurrency 50 and of PostgreSQL, from the first attempt to the last settled delivery. Both backlogs drain at the same time.',
        'The reference is the same run without the unavailable sink. The aims allow a rate that is 5% lower, and 20% more memory.',
      ],
    };
  },
};

async function drain(
  workbench: Workbench,
  { install: prepared, wanted: { sinks } }: Prepared,
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
      await sleep(SAMPLE_MS);
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
