import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Absence, watchAbsence } from '../absence.ts';
import { atLeast, atMost, figureOf } from '../figure.ts';
import { keepAsKnown } from '../known-leads.ts';
import { install, runLeadsync } from '../leadsync-under-test.ts';
import { finishedPolls } from '../ledger-times.ts';
import { type ReferenceName, runReference } from '../reference-process.ts';
import type { Figure, Series } from '../report/report.ts';
import { settleDisk } from '../servers.ts';
import { newFolder, type Work, type Workbench } from '../workbench.ts';

interface Grown {
  readonly leadsPerSecond: number;
  /** CPU time of the whole process. */
  readonly cpuMs: number;
  readonly peakMb: number;
  /** Size of the ledger's file; 0 for a reference. */
  readonly ledgerMb: number;
  /** Longest delay of the event loop; 0 for a reference. */
  readonly absentMs: number;
}

/** The results of a program for a number of leads, or the reason why there are none. */
interface Outcome {
  readonly results: Grown[];
  cannot: string | undefined;
}

const PROGRAMS = ['leadsync', 'plain script', 'transfer and parse'] as const;
type Program = (typeof PROGRAMS)[number];

/** Row 7: whether time grows only in proportion to the number of leads, and memory hardly at all. */
export const growth: Work = {
  number: 7,
  name: 'growth',
  measure: async (workbench) => {
    const sizes = workbench.quick ? [500, 5_000, 50_000] : [10_000, 100_000, 1_000_000];
    const outcomes = await measureAll(workbench, sizes);
    const ofLeadsync = sizes.map((size) => outcomes.get(size)?.leadsync.results ?? []);
    return {
      title: `First syncs of ${sizes.map((size) => size.toLocaleString('en')).join(', ')} leads into the ledger`,
      figures: [...sizes.flatMap((size) => figuresOf(size, outcomes.get(size))), ...overSizes(ofLeadsync)],
      series: PROGRAMS.flatMap((program) => seriesOf(program, outcomes)),
      notes: [
        'There is no sink: leadsync reads, checks, compares and records the listing. The rate is that of the poll alone, from the table `polls`. Memory is the peak of the process.',
        'The delay of the event loop is the longest wait for an answer to `/livez`, requested every 5 ms. It includes delays of the requesting process.',
        'The plain script and transfer and parse need the whole listing as one string, and V8 limits a string to 512 MB.',
      ],
    };
  },
};

async function measureAll(workbench: Workbench, sizes: readonly number[]) {
  const outcomes = new Map<number, Record<Program, Outcome>>();
  for (const size of sizes) {
    await workbench.world.show({ leads: size });
    const ofSize = {
      leadsync: newOutcome(),
      'plain script': newOutcome(),
      'transfer and parse': newOutcome(),
    };
    outcomes.set(size, ofSize);
    for (let run = 1; run <= workbench.runs; run += 1) {
      for (const program of PROGRAMS) {
        workbench.tell(`${size.toLocaleString('en')} leads, run ${run} of ${workbench.runs}: ${program}`);
        await measureOne(workbench, program, size, ofSize[program]);
      }
    }
  }
  return outcomes;
}

function newOutcome(): Outcome {
  return { results: [], cannot: undefined };
}

async function measureOne(
  workbench: Workbench,
  program: Program,
  size: number,
  outcome: Outcome,
): Promise<void> {
  if (outcome.cannot !== undefined) return;
  settleDisk();
  if (program === 'leadsync') {
    outcome.results.push(await leadsyncRun(workbench, size));
    return;
  }
  try {
    outcome.results.push(await referenceRun(workbench, program, size));
  } catch {
    // The size must be the cause, because the program can process the smaller listings.
    outcome.cannot = 'fails';
  }
}

async function leadsyncRun(workbench: Workbench, size: number): Promise<Grown> {
  const installed = await install(workbench);
  const watching = watchAbsence(installed.adminUrl);
  const { peakMb, cpuMs } = await runLeadsync(workbench, installed, ['sync']);
  const absence: Absence = await watching.stop();
  const [poll] = finishedPolls(installed.dataDir);
  if (poll?.leads_new !== size) throw new Error(`leadsync found ${poll?.leads_new} of ${size} leads`);
  const leadsPerSecond = (size / (poll.finished_at - poll.started_at)) * 1000;
  const ledgerMb = statSync(join(installed.dataDir, 'ledger.db')).size / 1024 / 1024;
  keepAsKnown(size, installed);
  return { leadsPerSecond, cpuMs, peakMb, ledgerMb, absentMs: absence.longestMs };
}

async function referenceRun(workbench: Workbench, program: Program, size: number): Promise<Grown> {
  const name: ReferenceName = program === 'plain script' ? 'plain-script' : 'transfer-and-parse';
  const baseUrl = { 'base-url': workbench.world.baseUrl() };
  const args =
    name === 'plain-script' ? { ...baseUrl, seen: join(newFolder(workbench), 'seen.db') } : baseUrl;
  const { peakMb, cpuMs, result } = await runReference(name, args);
  return { leadsPerSecond: (size / result.ms) * 1000, cpuMs, peakMb, ledgerMb: 0, absentMs: 0 };
}

function figuresOf(size: number, outcomes: Record<Program, Outcome> | undefined): Figure[] {
  if (outcomes === undefined) return [];
  const leads = `${size.toLocaleString('en')} leads`;
  const figure = (name: string, unit: Figure['unit'], valueIn: (grown: Grown) => number): Figure => {
    const { leadsync, ...references } = outcomes;
    return {
      name: `${leads}: ${name}`,
      unit,
      values: leadsync.results.map(valueIn),
      references: Object.entries(references).map(([reference, { results, cannot }]) => ({
        name: reference,
        values: cannot === undefined ? results.map(valueIn) : [],
        ...(cannot === undefined ? {} : { cannot }),
      })),
      aims: [],
    };
  };
  return [
    figure('rate', 'leads/s', ({ leadsPerSecond }) => leadsPerSecond),
    figure('CPU time', 's', ({ cpuMs }) => cpuMs / 1000),
    figure('peak memory', 'MB', ({ peakMb }) => peakMb),
    figureOf(
      `${leads}: size of the ledger`,
      'MB',
      { leadsync: outcomes.leadsync.results },
      ({ ledgerMb }) => ledgerMb,
    ),
  ];
}

/** Returns the figures that have aims. Each has one value for each run, over all sizes of that run. */
function overSizes(ofSizes: readonly (readonly Grown[])[]): Figure[] {
  const runs = (ofSizes[0] ?? []).map((_, run) =>
    ofSizes.map((results) => results[run]).filter((grown) => grown !== undefined),
  );
  const slowest = (run: readonly Grown[]) => {
    const rates = run.map(({ leadsPerSecond }) => leadsPerSecond);
    return Math.min(...rates) / Math.max(...rates);
  };
  const more = (run: readonly Grown[]) => (run.at(-1)?.peakMb ?? 0) - (run[0]?.peakMb ?? 0);
  const absent = (run: readonly Grown[]) => Math.max(...run.map(({ absentMs }) => absentMs));
  return [
    figureOf('slowest rate, divided by the fastest', '', { leadsync: runs }, slowest, [atLeast(0.8)]),
    figureOf('peak memory with the most leads, minus that with the fewest', 'MB', { leadsync: runs }, more, [
      atMost(60),
    ]),
    figureOf('longest delay of the event loop', 'ms', { leadsync: runs }, absent, [atMost(50)]),
  ];
}

function seriesOf(program: Program, outcomes: ReadonlyMap<number, Record<Program, Outcome>>): Series[] {
  const points = (valueIn: (grown: Grown) => number) =>
    [...outcomes].map(([leads, outcome]) => ({ leads, values: outcome[program].results.map(valueIn) }));
  return [
    { chart: 'throughput', name: program, points: points(({ leadsPerSecond }) => leadsPerSecond) },
    { chart: 'memory', name: program, points: points(({ peakMb }) => peakMb) },
  ];
}
