import { freePort } from '../../test/support/servers/server-process.ts';
import { until } from '../../test/support/time/until.ts';
import { atMost, figureOf } from '../figure.ts';
import { copyOf } from '../known-leads.ts';
import { defaultWebhookTo, whileRunning } from '../leadsync-under-test.ts';
import { finishedPolls } from '../ledger-times.ts';
import { leadsyncThatOwes, type Prepared } from '../owed-leads.ts';
import { inTurns, type Work, type Workbench } from '../workbench.ts';

const LONGEST_MS = 300_000;

/** Row 12: how fast a healthy sink gets changes, while many leads wait for an unavailable sink. */
export const changes: Work = {
  number: 12,
  name: 'changes while a sink is unavailable',
  measure: async (workbench) => {
    const leads = workbench.quick ? 8_000 : 80_000;
    const changed = workbench.quick ? 100 : 1_000;
    const hook = { ...defaultWebhookTo(workbench.world.receiverUrl), events: ['created', 'updated'] };
    const down = defaultWebhookTo(`http://127.0.0.1:${await freePort()}/`);
    const withDown = await leadsyncThatOwes(workbench, leads, { sinks: { hook, down } }, ['down']);
    const without = await leadsyncThatOwes(workbench, leads, { sinks: { hook } }, []);
    const results = await inTurns(workbench, {
      leadsync: () => timeToArrive(workbench, withDown, leads, changed),
      'without the unavailable sink': () => timeToArrive(workbench, without, leads, changed),
    });
    const aim = atMost(1.5, 'without the unavailable sink');
    return {
      title: `${changed.toLocaleString('en')} of ${leads.toLocaleString('en')} leads change while all of them are pending for an unavailable sink`,
      figures: [figureOf('time until a healthy sink has them', 's', results, (ms) => ms / 1000, [aim])],
      series: [],
      notes: [
        'The time is from the last byte of the first listing with the changes to the arrival of the last change at the healthy sink. That sink is a webhook with default options that also gets updates.',
        'The changed leads are distributed evenly over the listing. The daemon runs already and has polled before.',
      ],
    };
  },
};

/** Returns the ms until all changes have arrived at the receiver. @throws Error if one arrived more than once */
async function timeToArrive(
  workbench: Workbench,
  { install, wanted }: Prepared,
  leads: number,
  changed: number,
): Promise<number> {
  const { world } = workbench;
  await world.show({ leads });
  await world.reset();
  const copy = await copyOf(workbench, install, { ...wanted, every: '5s' });
  const before = finishedPolls(copy.dataDir).length;
  return whileRunning(workbench, copy, async () => {
    await until('the source was polled', () => finishedPolls(copy.dataDir).length > before);
    const listedAt = await world.change(leads / changed);
    const arrived = async () => (await world.arrivals()).leads >= changed;
    await until('the changes have arrived', arrived, LONGEST_MS);
    const { posts, lastAt } = await world.arrivals();
    if (posts !== changed || lastAt === undefined)
      throw new Error(`${posts} requests arrived for ${changed} changes`);
    return lastAt - listedAt;
  });
}
