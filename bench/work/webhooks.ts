import { join } from 'node:path';
import { atLeast, figureOf } from '../figure.ts';
import { install, runLeadsync, webhookTo } from '../leadsync-under-test.ts';
import type { Use } from '../process-use.ts';
import { runReference } from '../reference-process.ts';
import { settleDisk } from '../servers.ts';
import { inTurns, newFolder, type Work, type Workbench } from '../workbench.ts';

/** A run of a sender, and the rate at which the receiver got its requests. */
export type Sent = Use & { readonly leadsPerSecond: number };

/** Row 4: a first sync to a webhook, with one request for each lead and a concurrency of 50. */
export const webhooks: Work = {
  number: 4,
  name: 'webhooks',
  measure: async (workbench) => {
    const { world, servers } = workbench;
    const leads = workbench.quick ? 4_000 : 10_000;
    await world.show({ leads });
    const redis = await servers.redis();
    const results = await inTurns(workbench, {
      inProcess: () => sent(workbench, leads, () => sync(workbench)),
      bullmq: () =>
        sent(workbench, leads, async () => {
          await redis.reset();
          return sync(workbench, redis.url);
        }),
      plain: () =>
        sent(workbench, leads, () =>
          runReference('plain-script', {
            'base-url': world.baseUrl(),
            seen: join(newFolder(workbench), 'seen.db'),
            webhook: world.receiverUrl,
          }),
        ),
      posts: () =>
        sent(workbench, leads, () =>
          runReference('posts', { webhook: world.receiverUrl, leads: String(leads) }),
        ),
    });
    const { inProcess, bullmq, plain, posts } = results;
    const references = { 'plain script': plain, 'undici POSTs': posts };
    const rate = ({ leadsPerSecond }: Sent) => leadsPerSecond;
    return {
      title: `${leads.toLocaleString('en')} leads to a webhook, one request each, concurrency 50`,
      figures: [
        figureOf('in-process: rate', 'leads/s', { leadsync: inProcess, ...references }, rate, [
          atLeast(1.3, 'plain script'),
          atLeast(0.35, 'undici POSTs'),
        ]),
        figureOf('BullMQ: rate', 'leads/s', { leadsync: bullmq, ...references }, rate, [
          atLeast(0.8, 'plain script'),
        ]),
        ...(['in-process', 'BullMQ'] as const).flatMap((carrier) => {
          const both = { leadsync: carrier === 'BullMQ' ? bullmq : inProcess, 'plain script': plain };
          return [
            figureOf(`${carrier}: CPU time`, 's', both, ({ cpuMs }) => cpuMs / 1000),
            figureOf(`${carrier}: peak memory`, 'MB', both, ({ peakMb }) => peakMb),
          ];
        }),
      ],
      series: [],
      notes: [
        'The rate is measured at the receiver, from the first request to the last. CPU time and memory are those of the whole process, including its start and the listing.',
        'leadsync signs each request, and writes each lead and each outcome to the disk. The plain script and undici POSTs do not.',
      ],
    };
  },
};

function sync(workbench: Workbench, redisUrl?: string): Promise<Use> {
  const hook = webhookTo(workbench.world.receiverUrl);
  return install(workbench, { sinks: { hook }, ...(redisUrl === undefined ? {} : { redisUrl }) }).then(
    (installed) => runLeadsync(workbench, installed, ['sync']),
  );
}

/** Runs a sender and returns the rate at the receiver. @throws Error if a lead did not arrive exactly once */
export async function sent<Used extends Use>(
  { world }: Workbench,
  wanted: number,
  send: () => Promise<Used>,
): Promise<Used & Sent> {
  await world.reset();
  settleDisk();
  const use = await send();
  const { posts, leads, firstAt, lastAt } = await world.arrivals();
  if (posts !== wanted || leads !== wanted || firstAt === undefined || lastAt === undefined)
    throw new Error(`${posts} requests with ${leads} different leads arrived, of ${wanted}`);
  return { ...use, leadsPerSecond: ((wanted - 1) / (lastAt - firstAt)) * 1000 };
}
