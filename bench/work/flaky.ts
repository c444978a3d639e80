import { until } from '../../test/support/time/until.ts';
import { atLeast, atMost, figureOf } from '../figure.ts';
import { copyOf } from '../known-leads.ts';
import { defaultWebhookTo, whileRunning } from '../leadsync-under-test.ts';
import { leadsyncThatOwes, type Prepared } from '../owed-leads.ts';
import { runReference } from '../reference-process.ts';
import type { Figure } from '../report/report.ts';
import { settleDisk } from '../servers.ts';
import { inTurns, type Work, type Workbench } from '../workbench.ts';

const FAIL_PERCENTS = [10, 20, 30] as const;
/** Minimum and maximum delay of the receiver's answers. */
const DELAY_MS = [20, 120] as const;
/** The same if every request fails: long, so that concurrent requests overlap. */
const DOWN_DELAY_MS = [500, 1_000] as const;
const SEED = 1;
const LONGEST_MS = 300_000;

/** Row 10: the rate at a receiver that fails some requests, and the concurrency at one that fails all of them. */
export const flaky: Work = {
  number: 10,
  name: 'flaky receiver',
  measure: async (workbench) => {
    const leads = workbench.quick ? 1_000 : 3_000;
    const sinks = { hook: defaultWebhookTo(workbench.world.flakyUrl) };
    const prepared = await leadsyncThatOwes(workbench, leads, { sinks });
    const figures: Figure[] = [];
    for (const percent of FAIL_PERCENTS) figures.push(await rateFigure(workbench, prepared, percent, leads));
    const down = await inTurns(workbench, {
      leadsync: () => mostAtOnceWhileDown(workbench, prepared, workbench.quick ? 2 : 4),
    });
    figures.push(
      figureOf('all requests fail: maximum of concurrent requests', '', down, (most) => most, [atMost(1)]),
    );
    return {
      title: `${leads.toLocaleString('en')} leads to a webhook whose receiver answers some requests with 503`,
      figures,
      series: [],
      notes: [
        `The webhook has default options (concurrency 10). The receiver takes ${DELAY_MS.join(' to ')} ms to answer.`,
        'The retrying sender has the same concurrency, retries each failure after 1 s, and never holds back. For both programs, the same attempts of the same leads fail.',
        'The rate is that of the first 99% of the leads, from the first request. The benchmark fails if the receiver accepts a lead twice.',
        'If every request fails, only requests after leadsync reports the sink as held count.',
      ],
    };
  },
};

async function rateFigure(
  workbench: Workbench,
  prepared: Prepared,
  failPercent: number,
  leads: number,
): Promise<Figure> {
  const most = Math.ceil(leads * 0.99);
  const rateOf = async (send: () => Promise<unknown>) => {
    await workbench.world.behave({ failPercent, seed: SEED, delayMs: DELAY_MS });
    settleDisk();
    await send();
    return rateAtReceiver(workbench, most);
  };
  const results = await inTurns(workbench, {
    leadsync: () => rateOf(() => leadsyncSends(workbench, prepared, most)),
    'retrying sender': () =>
      rateOf(() =>
        runReference('retrying-sender', { webhook: workbench.world.flakyUrl, leads: String(leads) }),
      ),
  });
  const name = `${failPercent}% of requests fail: rate`;
  return figureOf(name, 'leads/s', results, (rate) => rate, [atLeast(0.8, 'retrying sender')]);
}

async function leadsyncSends(
  workbench: Workbench,
  { install, wanted }: Prepared,
  most: number,
): Promise<void> {
  const copy = await copyOf(workbench, install, { ...wanted, every: '1h' });
  await whileRunning(workbench, copy, () =>
    until('the leads have arrived', () => workbench.world.acceptedAt(most), LONGEST_MS),
  );
}

/** Returns the leads that were accepted per second, for the first `most`. @throws Error if fewer arrived, or one was accepted twice */
async function rateAtReceiver({ world }: Workbench, most: number): Promise<number> {
  const { firstRequestAt, accepted, leads } = await world.visits();
  const lastAt = await world.acceptedAt(most);
  if (accepted !== leads) throw new Error(`${accepted - leads} leads were accepted twice`);
  if (firstRequestAt === undefined || lastAt === undefined) throw new Error(`only ${leads} leads arrived`);
  return (most / (lastAt - firstRequestAt)) * 1000;
}

/** Returns the maximum of concurrent requests at a receiver that fails all of them, until it got `probes` requests. @throws Error if it is more than 1 */
async function mostAtOnceWhileDown(
  workbench: Workbench,
  { install, wanted }: Prepared,
  probes: number,
): Promise<number> {
  const { world } = workbench;
  const down = { failPercent: 100, seed: SEED, delayMs: DOWN_DELAY_MS };
  await world.behave(down);
  const copy = await copyOf(workbench, install, { ...wanted, every: '1h' });
  return whileRunning(workbench, copy, async () => {
    await until('the sink is held', () => isHeld(copy.adminUrl), LONGEST_MS);
    await until('what was under way is answered', async () => (await world.visits()).open === 0);
    await world.behave(down);
    await until('probes were made', async () => (await world.visits()).requests >= probes, LONGEST_MS);
    const { mostOpen } = await world.visits();
    if (mostOpen > 1)
      throw new Error(`a receiver that fails every request got ${mostOpen} concurrent requests`);
    return mostOpen;
  });
}

async function isHeld(adminUrl: string): Promise<boolean> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
  return /^leadsync_sink_held\{[^}]*\} 1$/m.test(metrics);
}
