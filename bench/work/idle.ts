import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../test/support/until.ts';
import { atMost, figureOf } from '../figure.ts';
import { copyOf, leadsyncThatKnows } from '../known-leads.ts';
import { whileRunning } from '../leadsync-under-test.ts';
import { finishedPolls } from '../ledger-times.ts';
import { cpuMsOf, residentMbOf } from '../process-use.ts';
import { ReferenceProcess } from '../reference-process.ts';
import { newFolder, type Work, type Workbench } from '../workbench.ts';

const WINDOWS = 3;
const SETTLE_MS = 3_000;

/** What a process used while one poll's time went by. */
interface Window {
  readonly cpuPercent: number;
  readonly residentMb: number;
}

/** Row 6: what it costs to have leadsync running while nothing happens. */
export const idle: Work = {
  number: 6,
  name: 'idle',
  measure: async (workbench) => {
    const leads = workbench.quick ? 10_000 : 100_000;
    const [windows, windowMs] = workbench.quick ? [1, 10_000] : [WINDOWS, 30_000];
    const known = await leadsyncThatKnows(workbench, leads);
    await workbench.world.show({ name: 'main', leads });
    await workbench.world.show({ name: 'tagged', leads, etag: true });
    workbench.tell(`idle for ${(windows * windowMs) / 1000} s`);
    const watch = (pid: number | undefined) => watchWindows(pid, windows, windowMs);
    const daemon = async (source: string) => {
      const installed = await copyOf(workbench, known, { every: `${windowMs / 1000}s`, sources: [source] });
      return whileRunning(workbench, installed, async ({ process: { pid } }) => {
        await until('the first poll has ended', () => finishedPolls(installed.dataDir).length >= 2, 60_000);
        return watch(pid);
      });
    };
    // At the same time: what is measured is each one's own CPU time, and all of them sleep.
    const [same, tagged, plain] = await Promise.all([
      daemon('main'),
      daemon('tagged'),
      plainWindows(workbench, windows, windowMs, watch),
    ]);
    const references = { 'plain script': plain };
    return {
      title: `Idle with ${leads.toLocaleString('en')} known leads, polling every ${windowMs / 1000} s`,
      figures: [
        figureOf('memory', 'MB', { leadsync: same, ...references }, (w) => w.residentMb, [atMost(110)]),
        figureOf('CPU', '%', { leadsync: same, ...references }, (w) => w.cpuPercent, [atMost(0.5)]),
        figureOf('memory, with 304', 'MB', { leadsync: tagged }, (w) => w.residentMb, [atMost(110)]),
        figureOf('CPU, with 304', '%', { leadsync: tagged }, (w) => w.cpuPercent, [atMost(0.5)]),
      ],
      series: [],
      notes: [
        `Each value is of ${windowMs / 1000} s, in which there is one poll. Without ETags each poll transfers the whole listing and finds it to be the same; with them it is answered with 304.`,
      ],
    };
  },
};

async function watchWindows(pid: number | undefined, windows: number, windowMs: number): Promise<Window[]> {
  await sleep(SETTLE_MS);
  const found: Window[] = [];
  for (let window = 0; window < windows; window += 1) {
    const [cpuBeforeMs, startMs] = [cpuMsOf(pid), performance.now()];
    await sleep(windowMs);
    const cpuPercent = ((cpuMsOf(pid) - cpuBeforeMs) / (performance.now() - startMs)) * 100;
    found.push({ cpuPercent, residentMb: residentMbOf(pid) ?? 0 });
  }
  return found;
}

async function plainWindows(
  workbench: Workbench,
  windows: number,
  windowMs: number,
  watch: (pid: number | undefined) => Promise<Window[]>,
): Promise<Window[]> {
  const seen = join(newFolder(workbench), 'seen.db');
  const script = new ReferenceProcess('plain-script', { 'base-url': workbench.world.baseUrl(), seen });
  await script.run();
  const watching = watch(script.process.pid);
  for (let poll = 0; poll < windows; poll += 1) {
    await sleep(windowMs);
    await script.run();
  }
  const found = await watching;
  await script.close();
  return found;
}
