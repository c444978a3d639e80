import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../test/support/time/until.ts';
import { atMost, figureOf } from '../figure.ts';
import { copyOf } from '../known-leads.ts';
import { defaultWebhookTo, whileRunning } from '../leadsync-under-test.ts';
import { finishedPolls } from '../ledger-times.ts';
import { leadsyncThatOwes, type Prepared } from '../owed-leads.ts';
import { percentile } from '../report/statistics.ts';
import { inTurns, type Work, type Workbench } from '../workbench.ts';

/** The source that lists new leads. Its listing is short, so that reading it takes little of the measured time. */
const LATE = { name: 'late', first: 1_000_000, leads: 1_000 };
const NEW_LEAD_EVERY_MS = 250;
/** Minimum and maximum delay of the receiver's answers. */
const DELAY_MS = [10, 60] as const;

/** Row 11: the latency of a new lead at a sink that delivers a backlog. */
export const behindBacklog: Work = {
  number: 11,
  name: 'new leads behind a backlog',
  measure: async (workbench) => {
    const leads = workbench.quick ? 5_000 : 50_000;
    const fresh = workbench.quick ? 20 : 200;
    await workbench.world.show(LATE);
    const wanted = {
      sinks: { hook: defaultWebhookTo(workbench.world.flakyUrl) },
      sources: ['main', LATE.name],
    };
    const behind = await leadsyncThatOwes(workbench, leads, wanted);
    await workbench.world.show(LATE);
    const alone = await leadsyncThatOwes(workbench, 0, wanted, []);
    const results = await inTurns(workbench, {
      leadsync: () => latenciesOf(workbench, behind, fresh, leads),
      'without a backlog': () => latenciesOf(workbench, alone, fresh, 0),
    });
    return {
      title: `Latency of a new lead while a backlog of ${leads.toLocaleString('en')} drains through one webhook`,
      figures: [
        figureOf('p50', 'ms', results, (latencies) => percentile(latencies, 50)),
        figureOf('p95', 'ms', results, (latencies) => percentile(latencies, 95), [atMost(5_000)]),
      ],
      series: [],
      notes: [
        `The webhook has default options (concurrency 10). The receiver takes ${DELAY_MS.join(' to ')} ms to answer.`,
        `Each run has ${fresh} new leads, one every ${NEW_LEAD_EVERY_MS} ms, from a second source that is polled every second. The latency is the time from the last byte of the first listing with the lead to its acceptance.`,
        'The benchmark fails if the backlog drains before the last of them arrives.',
      ],
    };
  },
};

async function latenciesOf(
  workbench: Workbench,
  { install, wanted }: Prepared,
  fresh: number,
  backlog: number,
): Promise<number[]> {
  const { world } = workbench;
  await world.show({ leads: backlog });
  await world.show(LATE);
  await world.behave({ failPercent: 0, seed: 1, delayMs: DELAY_MS });
  const copy = await copyOf(workbench, install, { ...wanted, every: { main: '1h', late: '1s' } });
  const before = finishedPolls(copy.dataDir).length;
  return whileRunning(workbench, copy, async () => {
    const polled = () => finishedPolls(copy.dataDir).length >= before + 2;
    await until('both sources were polled', polled);
    const latencies = await Promise.all(await slideEvery(workbench, fresh));
    const { leads } = await world.visits();
    if (backlog > 0 && leads >= backlog) throw new Error('the backlog drained too soon to measure anything');
    return latencies;
  });
}

/** Lists new leads at a constant rate, without waiting for their arrival. Returns promises of their latencies in ms. */
async function slideEvery({ world }: Workbench, leads: number): Promise<Promise<number>[]> {
  const latencies: Promise<number>[] = [];
  for (let lead = 0; lead < leads; lead += 1) {
    latencies.push(world.slide(LATE.name));
    await sleep(NEW_LEAD_EVERY_MS);
  }
  return latencies;
}
