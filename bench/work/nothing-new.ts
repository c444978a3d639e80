import { until } from '../../test/support/time/until.ts';
import { atMost, figureOf } from '../figure.ts';
import { copyOf, leadsyncThatKnows } from '../known-leads.ts';
import { whileRunning } from '../leadsync-under-test.ts';
import { finishedPolls } from '../ledger-times.ts';
import { warmReference } from '../reference-process.ts';
import { median } from '../report/statistics.ts';
import { inTurns, type Work, type Workbench } from '../workbench.ts';

/** Row 3: a poll of a listing that has not changed. */
export const nothingNew: Work = {
  number: 3,
  name: 'nothing new',
  measure: async (workbench) => {
    const leads = workbench.quick ? 10_000 : 100_000;
    const times = workbench.quick ? 3 : 5;
    await leadsyncThatKnows(workbench, leads);
    const results = await inTurns(workbench, {
      leadsync: () => polls(workbench, { leads, times, etag: false }),
      'bare transfer': async () =>
        (await warmReference('transfer', { 'base-url': workbench.world.baseUrl() }, times)).ms,
      'with a 304': () => polls(workbench, { leads, times, etag: true }),
    });
    const { leadsync, 'bare transfer': transfer, 'with a 304': notModified } = results;
    return {
      title: `Poll of ${leads.toLocaleString('en')} known leads without a change`,
      figures: [
        figureOf('wall time, unchanged body', 'ms', { leadsync, 'bare transfer': transfer }, (ms) => ms, [
          atMost(1.8, 'bare transfer'),
        ]),
        figureOf('wall time, 304 Not Modified', 'ms', { leadsync: notModified }, (ms) => ms, [atMost(5)]),
      ],
      series: [],
      notes: [`The daemon runs already. Each value is the median of ${times} polls.`],
    };
  },
};

/** Returns the median duration of polls that find nothing new, in ms. */
async function polls(
  workbench: Workbench,
  { leads, times, etag }: { leads: number; times: number; etag: boolean },
): Promise<number> {
  await workbench.world.show({ leads, etag });
  const known = await leadsyncThatKnows(workbench, leads);
  const { dataDir, ...rest } = await copyOf(workbench, known, { every: '1s' });
  const status = etag ? 304 : 200;
  const unchanged = () =>
    finishedPolls(dataDir).filter((poll) => poll.status === 'unchanged' && poll.http_status === status);
  await whileRunning(workbench, { dataDir, ...rest }, () =>
    until('the polls have ended', () => unchanged().length > times, 120_000),
  );
  return median(
    unchanged()
      .slice(1, 1 + times)
      .map((poll) => poll.finished_at - poll.started_at),
  );
}
