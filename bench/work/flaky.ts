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
/** How long the receiver takes for each answer, in ms. */
const DELAY_MS = [20, 120] as const;
/** The same where it is down: long, so that two requests at once are seen. */
const DOWN_DELAY_MS = [500, 1_000] as const;
const SEED = 1;
const LONGEST_MS = 300_000;

/** Row 10: what gets through to a receiver that fails a share of its requests, and how one that is down is treated. */
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
    figures.push(figureOf('all fail: requests at a time', '', down, (most) => most, [atMost(1)]));
    return {
      title: `${leads.toLocaleString('en')} leads to a webhook whose receiver answers a share of all requests with 503`,
      figures,
      series: [],
      notes: [
        `A webhook with every default (concurrency 10). The receiver takes ${DELAY_MS.join(' to ')} ms for each answer.`,
        'The retrying sender has the same concurrency, tries again 1 s after each failure, and never holds back. The same attempts of the same leads fail for both.',
        'The rate is that of the first 99 % of the leads, from the first request on. A lead that was accepted twice makes the benchmark fail.',
        'Where every request fails, those are counted that come once leadsync says that the sink is held.',
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
  const name = `${failPercent} % fail`;
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

/** Leads accepted in a second, of the first `most`. @throws Error when fewer arrived, or one was accepted twice */
async function rateAtReceiver({ world }: Workbench, most: number): Promise<number> {
  const { firstRequestAt, accepted, leads } = await world.visits();
  const lastAt = await world.acceptedAt(most);
  if (accepted !== leads) throw new Error(`${accepted - leads} leads were accepted twice`);
  if (firstRequestAt === undefined || lastAt === undefined) throw new Error(`only ${leads} leads arrived`);
  return (most / (lastAt - firstRequestAt)) * 1000;
}

/** The most requests that were open at once at a receiver that is down, until `probes` were made. @throws Error for more than 1 */
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
    if (mostOpen > 1) throw new Error(`a receiver that is down got ${mostOpen} requests at once`);
    return mostOpen;
  });
}

async function isHeld(adminUrl: string): Promise<boolean> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
  return /^leadsync_sink_held\{[^}]*\} 1$/m.test(metrics);
}
