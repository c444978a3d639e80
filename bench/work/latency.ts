import { join } from 'node:path';
import { until } from '../../test/support/time/until.ts';
import { atMost, figureOf } from '../figure.ts';
import { install, runLeadsync, webhookTo, whileRunning } from '../leadsync-under-test.ts';
import { finishedPolls } from '../ledger-times.ts';
import { ReferenceProcess } from '../reference-process.ts';
import { percentile } from '../report/statistics.ts';
import { inTurns, newFolder, type Work, type Workbench } from '../workbench.ts';

const LISTED = 1_000;
/** The shortest poll interval is a second. Four sources in turn list four leads a second. */
const SOURCES = ['north', 'east', 'south', 'west'];
const TURN_MS = 1_000 / SOURCES.length;
/** Leads of each source that do not count, because they warm up. */
const WARM_UP = 2;

/** Row 5: the time of a new lead from the listing to the webhook. */
export const latency: Work = {
  number: 5,
  name: 'latency',
  measure: async (workbench) => {
    const each = workbench.quick ? 4 : 15;
    const redis = await workbench.servers.redis();
    const results = await inTurns(workbench, {
      inProcess: () => leadsyncRun(workbench, each),
      bullmq: async () => {
        await redis.reset();
        return leadsyncRun(workbench, each, redis.url);
      },
      plain: () => plainRun(workbench, each * SOURCES.length),
    });
    const { inProcess, bullmq, plain } = results;
    const figures = (carrier: string, leadsync: number[][], limits: readonly [number, number]) =>
      ([50, 99] as const).map((percent, index) =>
        figureOf(
          `${carrier}: p${percent}`,
          'ms',
          { leadsync, 'plain script': plain },
          (latencies) => percentile(latencies, percent),
          [atMost(limits[index] ?? 0)],
        ),
      );
    return {
      title: 'Latency from the last byte of the listing to the webhook request, one new lead among 1,000',
      figures: [...figures('in-process', inProcess, [5, 25]), ...figures('BullMQ', bullmq, [10, 50])],
      series: [],
      notes: [
        `Each run has ${each * SOURCES.length} new leads. A new lead is the last one of its listing. One process takes both times with one clock.`,
        `leadsync polls ${SOURCES.length} sources every second, which answer in turn. The plain script polls one source without a pause, and the next lead is listed when the last one has arrived.`,
      ],
    };
  },
};

async function leadsyncRun(workbench: Workbench, each: number, redisUrl?: string): Promise<number[]> {
  const { world } = workbench;
  for (const [index, name] of SOURCES.entries())
    await world.show({ name, leads: LISTED, first: firstIdOf(index), delayMs: index * TURN_MS });
  const installed = await install(workbench, {
    sources: SOURCES,
    every: '1s',
    sinks: { hook: webhookTo(world.receiverUrl) },
    ...(redisUrl === undefined ? {} : { redisUrl }),
  });
  // Deliver the leads that are listed from the start first, so that they do not delay the new ones.
  await runLeadsync({ ...workbench, env: {} }, installed, ['sync']);
  const before = finishedPolls(installed.dataDir).length;
  return whileRunning(workbench, installed, async () => {
    const polled = () => finishedPolls(installed.dataDir).length >= before + SOURCES.length;
    await until('every source was polled', polled);
    const ofSources = await Promise.all(SOURCES.map((name) => latenciesOf(workbench, name, each)));
    return ofSources.flat();
  });
}

async function plainRun(workbench: Workbench, leads: number): Promise<number[]> {
  const { world } = workbench;
  await world.show({ leads: LISTED });
  const script = new ReferenceProcess('plain-script', {
    'base-url': world.baseUrl(),
    seen: join(newFolder(workbench), 'seen.db'),
    webhook: world.receiverUrl,
  });
  await script.run();
  const latencies: number[] = [];
  for (let lead = 0; lead < WARM_UP + leads; lead += 1) {
    let arrived = false;
    const arrival = world.slide().finally(() => {
      arrived = true;
    });
    while (!arrived) await script.run();
    latencies.push(await arrival);
  }
  await script.close();
  return latencies.slice(WARM_UP);
}

async function latenciesOf({ world }: Workbench, name: string, leads: number): Promise<number[]> {
  const latencies: number[] = [];
  for (let lead = 0; lead < WARM_UP + leads; lead += 1) latencies.push(await world.slide(name));
  return latencies.slice(WARM_UP);
}

/** Returns the first id of a source. The ids of the sources differ, so that the receiver can distinguish their leads. */
function firstIdOf(source: number): number {
  return 1 + source * 1_000_000;
}
