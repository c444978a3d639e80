import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, figureOf } from '../figure.ts';
import { type Install, install, runLeadsync, whileRunning } from '../leadsync-under-test.ts';
import { type Engine, freshServer, ledgerIn, type ServerUse, withServer } from '../ledger-engines.ts';
import { finishedPolls, finishedPollsOnServer } from '../ledger-times.ts';
import { cpuMsOf, peakMbOf, resetPeak } from '../process-use.ts';
import type { WarmUse } from '../reference-process.ts';
import { median } from '../report/statistics.ts';
import { inTurns, type Work, type Workbench } from '../workbench.ts';

type Polled = WarmUse & ServerUse;

const NEW = 10;
/** How often the polls are looked up, in ms: seldom, because that costs CPU time of PostgreSQL. */
const ASK_MS = 1_000;
const MOST_ASKED = 120;

/** Row 19: a poll of a warm daemon that finds few new leads, with a ledger on a server and with one in a file. */
export const serverLedgerPolls: Work = {
  number: 19,
  name: 'few new leads with a ledger in PostgreSQL',
  measure: async (workbench) => {
    const leads = workbench.quick ? 10_000 : 100_000;
    const times = workbench.quick ? 2 : 4;
    await workbench.world.show({ leads });
    await freshServer(workbench);
    const prepared = {
      PostgreSQL: await prepare(workbench, 'PostgreSQL'),
      SQLite: await prepare(workbench, 'SQLite'),
    };
    await workbench.world.show({ leads, growBy: NEW });
    const { PostgreSQL, SQLite } = await inTurns(workbench, {
      PostgreSQL: () => polled(workbench, prepared.PostgreSQL, 'PostgreSQL', times),
      SQLite: () => polled(workbench, prepared.SQLite, 'SQLite', times),
    });
    const results = { leadsync: PostgreSQL, 'ledger in SQLite': SQLite };
    const server = { leadsync: PostgreSQL };
    return {
      title: `Poll of ${leads.toLocaleString('en')} known leads and ${NEW} new ones with a ledger in PostgreSQL`,
      figures: [
        figureOf('wall time', 'ms', results, ({ ms }) => ms, [atMost(1.2, 'ledger in SQLite')]),
        figureOf('CPU time of leadsync', 'ms', results, ({ cpuMs }) => cpuMs),
        figureOf('CPU time of PostgreSQL', 'ms', server, ({ serverCpuMs }) => serverCpuMs),
        figureOf('peak memory of leadsync', 'MB', results, ({ peakMb }) => peakMb),
        figureOf('write-ahead log', 'MB', server, ({ writtenAheadMb }) => writtenAheadMb),
        figureOf('transactions', '', server, ({ transactions }) => transactions),
      ],
      series: [],
      notes: [
        `There is no sink. The daemons run already. Wall time is the median of ${times} polls, from the table \`polls\`; CPU time, the write-ahead log and transactions are the mean of the time from one poll to the next, 2 s.`,
      ],
    };
  },
};

async function prepare(workbench: Workbench, engine: Engine): Promise<Install> {
  workbench.tell(`preparing a ledger in ${engine}`);
  const prepared = await install(workbench, { every: '2s', ...(await ledgerIn(workbench, engine)) });
  await runLeadsync({ ...workbench, env: {} }, prepared, ['sync']);
  return prepared;
}

async function polled(
  workbench: Workbench,
  prepared: Install,
  engine: Engine,
  times: number,
): Promise<Polled> {
  const all = async () =>
    engine === 'SQLite' ? finishedPolls(prepared.dataDir) : finishedPollsOnServer(workbench);
  const before = (await all()).length;
  // The first poll of a run may find more, because the listing grew while the other program polled.
  const fresh = async () => (await all()).slice(before).filter(({ leads_new }) => leads_new === NEW);
  return whileRunning(workbench, prepared, async ({ process: { pid } }) => {
    await asking(async () => (await fresh()).length >= 1);
    const warm = (await fresh()).length;
    const measured = async () => (await fresh()).slice(warm, warm + times);
    resetPeak(pid);
    const use = await withServer(workbench, async () => {
      const cpuBeforeMs = cpuMsOf(pid);
      await asking(async () => (await measured()).length === times);
      return { cpuMs: (cpuMsOf(pid) - cpuBeforeMs) / times, peakMb: peakMbOf(pid) ?? 0 };
    });
    const polls = await measured();
    return {
      ...use,
      ms: median(polls.map(({ started_at, finished_at }) => finished_at - started_at)),
      serverCpuMs: use.serverCpuMs / times,
      writtenAheadMb: use.writtenAheadMb / times,
      transactions: use.transactions / times,
    };
  });
}

/** Waits until a condition is true. @throws Error if that takes longer than two minutes */
async function asking(isTrue: () => Promise<boolean>): Promise<void> {
  for (let asked = 0; asked < MOST_ASKED; asked += 1) {
    if (await isTrue()) return;
    await sleep(ASK_MS);
  }
  throw new Error(`there were too few polls within ${(MOST_ASKED * ASK_MS) / 1000} s`);
}
