import { join } from 'node:path';
import { until } from '../../test/support/time/until.ts';
import { atMost, figureOf } from '../figure.ts';
import { type Install, install, runLeadsync, whileRunning } from '../leadsync-under-test.ts';
import { deliveryTimes, type FinishedPoll, finishedPolls } from '../ledger-times.ts';
import { cpuMsOf, peakMbOf, resetPeak } from '../process-use.ts';
import { runReference, type WarmUse, warmReference } from '../reference-process.ts';
import { median } from '../report/statistics.ts';
import { inTurns, newFolder, type Work, type Workbench } from '../workbench.ts';

const NEW = 10;

/** Row 2: a poll of a warm daemon that finds few new leads. */
export const fewNew: Work = {
  number: 2,
  name: 'few new leads',
  measure: async (workbench) => {
    const leads = workbench.quick ? 10_000 : 100_000;
    const times = workbench.quick ? 2 : 4;
    const { world } = workbench;
    const { prepared, plain } = await prepare(workbench, leads);
    await world.show({ leads, growBy: NEW });
    const results = await inTurns(workbench, {
      leadsync: () => leadsyncRun(workbench, prepared, times),
      'plain script': () => warmReference('plain-script', plain, times),
      'transfer and parse': () => warmReference('transfer-and-parse', { 'base-url': world.baseUrl() }, times),
    });
    return {
      title: `Poll of ${leads.toLocaleString('en')} known leads and ${NEW} new ones`,
      figures: [
        figureOf('wall time', 'ms', results, ({ ms }) => ms, [
          atMost(0.6, 'plain script'),
          atMost(1 / 0.6, 'transfer and parse'),
        ]),
        figureOf('CPU time', 'ms', results, ({ cpuMs }) => cpuMs, [atMost(0.6, 'plain script')]),
        figureOf('peak memory', 'MB', results, ({ peakMb }) => peakMb, [atMost(0.6, 'plain script')]),
      ],
      series: [],
      notes: [
        `The processes run already. Each value is the median of ${times} polls; for CPU time, the mean.`,
        'For leadsync and the plain script, a poll lasts until the new leads are in PostgreSQL.',
      ],
    };
  },
};

/** Prepares a leadsync and a plain script that know all leads and have stored them in PostgreSQL. */
async function prepare(workbench: Workbench, leads: number) {
  workbench.tell('preparing: first syncs of both programs');
  const { world, servers } = workbench;
  const database = await servers.database();
  await database.reset();
  await world.show({ leads });
  const warehouse = { type: 'postgres', url: database.url, mirror: false };
  const prepared = await install(workbench, { sinks: { warehouse }, every: '2s' });
  await runLeadsync({ ...workbench, env: {} }, prepared, ['sync']);
  const seen = join(newFolder(workbench), 'seen.db');
  const plain = { 'base-url': world.baseUrl(), seen, postgres: database.url };
  await runReference('plain-script', plain);
  return { prepared, plain };
}

async function leadsyncRun(workbench: Workbench, prepared: Install, times: number): Promise<WarmUse> {
  const before = finishedPolls(prepared.dataDir).length;
  const fresh = () => finishedPolls(prepared.dataDir).slice(before).filter(isOfInterest);
  const use = await whileRunning(workbench, prepared, async ({ process: { pid } }) => {
    await until('the first polls have ended', () => fresh().length >= 1, 60_000);
    resetPeak(pid);
    const cpuBeforeMs = cpuMsOf(pid);
    // Wait for the deliveries, because a daemon that is stopped leaves deliveries that it has not begun for its next start.
    const arrived = (poll: FinishedPoll) => deliveredOf(prepared, poll).delivered === NEW;
    await until(
      'the leads of the polls to be measured have arrived',
      () => fresh().length > times && measuredOf(fresh(), times).every(arrived),
      120_000,
    );
    return { cpuMs: (cpuMsOf(pid) - cpuBeforeMs) / times, peakMb: peakMbOf(pid) ?? 0 };
  });
  return { ...use, ms: median(measuredOf(fresh(), times).map((poll) => wallMs(prepared, poll))) };
}

/** Returns the polls to measure: all but the first, which warms up. */
function measuredOf(polls: readonly FinishedPoll[], times: number): readonly FinishedPoll[] {
  return polls.slice(1, 1 + times);
}

/** Whether a poll found exactly the new leads of one answer. The first poll may find more, because other programs made the listing grow. */
function isOfInterest({ leads_new }: FinishedPoll): boolean {
  return leads_new === NEW;
}

function wallMs(prepared: Install, poll: FinishedPoll): number {
  return Math.max(poll.finished_at, deliveredOf(prepared, poll).lastAt) - poll.started_at;
}

function deliveredOf({ dataDir }: Install, { started_at, finished_at }: FinishedPoll) {
  return deliveryTimes(dataDir, 'warehouse', { from: started_at, to: finished_at });
}
