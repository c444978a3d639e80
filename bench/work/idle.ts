import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../test/support/time/until.ts';
import { atMost, figureOf } from '../figure.ts';
import { install, whileRunning } from '../leadsync-under-test.ts';
import { cpuMsOf, residentMbOf } from '../process-use.ts';
import { ReferenceProcess } from '../reference-process.ts';
import { newFolder, type Work, type Workbench } from '../workbench.ts';

const WINDOWS = 3;
/** Wait after a first sync. By then leadsync has returned the memory of the sync to the system. */
const SETTLE_MS = 45_000;
const SYNC_MS = 600_000;

/** The resources that a process used during one poll interval. */
interface Window {
  readonly cpuPercent: number;
  readonly residentMb: number;
}

/** Row 6: CPU usage and memory of an idle leadsync, after a first sync with a postgres sink. */
export const idle: Work = {
  number: 6,
  name: 'idle',
  measure: async (workbench) => {
    const leads = workbench.quick ? 10_000 : 100_000;
    const [windows, windowMs] = workbench.quick ? [1, 10_000] : [WINDOWS, 30_000];
    const database = await workbench.servers.database();
    await database.reset();
    await workbench.world.show({ name: 'main', leads });
    await workbench.world.show({ name: 'tagged', leads, etag: true });
    const watch = (pid: number | undefined) => watchWindows(pid, windows, windowMs);
    const daemon = async (source: string) => {
      const schema = `leadsync_${source}`;
      const sinks = { warehouse: { type: 'postgres', url: database.url, schema } };
      const installed = await install(workbench, { every: `${windowMs / 1000}s`, sources: [source], sinks });
      return whileRunning(workbench, installed, async ({ process: { pid } }) => {
        const synced = async () => (await database.count(`${schema}.deliveries`)) >= leads;
        await until('everything is in PostgreSQL', synced, SYNC_MS);
        await sleep(SETTLE_MS);
        return watch(pid);
      });
    };
    workbench.tell(`first syncs, then idle for ${(windows * windowMs) / 1000} s`);
    // All at the same time, because the benchmark measures the CPU time of each process, and all are nearly idle.
    const [same, tagged, plain] = await Promise.all([
      daemon('main'),
      daemon('tagged'),
      plainWindows(workbench, windows, windowMs, watch),
    ]);
    const references = { 'plain script': plain };
    return {
      title: `Idle after a first sync of ${leads.toLocaleString('en')} leads into PostgreSQL, polling every ${windowMs / 1000} s`,
      figures: [
        figureOf('resident memory', 'MB', { leadsync: same, ...references }, (w) => w.residentMb, [
          atMost(130),
        ]),
        figureOf('CPU usage', '%', { leadsync: same, ...references }, (w) => w.cpuPercent, [atMost(0.6)]),
        figureOf('resident memory, with 304', 'MB', { leadsync: tagged }, (w) => w.residentMb, [atMost(130)]),
        figureOf('CPU usage, with 304', '%', { leadsync: tagged }, (w) => w.cpuPercent, [atMost(0.1)]),
      ],
      series: [],
      notes: [
        `Each value covers ${windowMs / 1000} s with one poll, in the process of the first sync, from ${SETTLE_MS / 1000} s after it, with default options. Without ETags, each poll transfers the whole listing and finds it unchanged. With ETags, the service answers 304.`,
      ],
    };
  },
};

async function watchWindows(pid: number | undefined, windows: number, windowMs: number): Promise<Window[]> {
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
  const { url } = await workbench.servers.database();
  const script = new ReferenceProcess('plain-script', {
    'base-url': workbench.world.baseUrl(),
    seen,
    postgres: url,
  });
  await script.run();
  await sleep(SETTLE_MS);
  const watching = watch(script.process.pid);
  for (let poll = 0; poll < windows; poll += 1) {
    await sleep(windowMs);
    await script.run();
  }
  const found = await watching;
  await script.close();
  return found;
}
