// `npm run bench`: compares leadsync with reference programs and prints a table. See `--help`.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { installServers, missingServers } from '../test/support/servers/install-servers.ts';
import { describeMachine } from './machine.ts';
import { type BenchOptions, readOptions, USAGE } from './options.ts';
import { endChildren } from './process-use.ts';
import { type Report, type Row, reportSchema } from './report/report.ts';
import { tableOf } from './report/table.ts';
import { Servers } from './servers.ts';
import { backlog } from './work/backlog.ts';
import { behindBacklog } from './work/behind-backlog.ts';
import { changes } from './work/changes.ts';
import { commandStart } from './work/command-start.ts';
import { fewNew } from './work/few-new.ts';
import { firstSync } from './work/first-sync.ts';
import { flaky } from './work/flaky.ts';
import { fourSinks } from './work/four-sinks.ts';
import { growth } from './work/growth.ts';
import { hubspot } from './work/hubspot.ts';
import { idle } from './work/idle.ts';
import { latency } from './work/latency.ts';
import { mapping } from './work/mapping.ts';
import { nothingNew } from './work/nothing-new.ts';
import { serverLedgerDeliveries } from './work/server-ledger-deliveries.ts';
import { serverLedgerPolls } from './work/server-ledger-polls.ts';
import { serverLedgerProcesses } from './work/server-ledger-processes.ts';
import { serverLedgerRecording } from './work/server-ledger-recording.ts';
import { start } from './work/start.ts';
import { webhooks } from './work/webhooks.ts';
import type { Work, Workbench } from './workbench.ts';
import { World } from './world.ts';
import { writeDocs } from './write-docs.ts';

/** The rows of the table, in order. */
const works: readonly Work[] = [
  firstSync,
  fewNew,
  nothingNew,
  webhooks,
  latency,
  idle,
  growth,
  backlog,
  start,
  flaky,
  behindBacklog,
  changes,
  fourSinks,
  commandStart,
  mapping,
  hubspot,
  serverLedgerRecording,
  serverLedgerDeliveries,
  serverLedgerPolls,
  serverLedgerProcesses,
];

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  tell(`The benchmark failed: ${error instanceof Error ? error.stack : error}`);
  return 1;
});

async function main(args: readonly string[]): Promise<number> {
  const options = optionsOf(args);
  if (options === undefined) return 2;
  if (options.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (options.writeDocs !== undefined) {
    await writeDocs(reportSchema.parse(JSON.parse(await readFile(options.writeDocs, 'utf8'))));
    return 0;
  }
  if (!existsSync('/proc/self/clear_refs')) {
    tell(
      'The benchmark reads the CPU time and memory of processes from /proc, which only Linux has. Run it on Linux or in a container.',
    );
    return 1;
  }
  const { report, failed } = await measure(options);
  process.stdout.write(tableOf(report));
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`);
  if (failed.length > 0) tell(`The table lacks the rows that failed: ${failed.join(', ')}.`);
  return failed.length > 0 ? 1 : 0;
}

function optionsOf(args: readonly string[]): BenchOptions | undefined {
  try {
    return readOptions(args);
  } catch (error) {
    tell(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    return undefined;
  }
}

/** The report, and the numbers of the rows that failed and are not in it. */
interface Measured {
  readonly report: Report;
  readonly failed: readonly number[];
}

async function measure(options: BenchOptions): Promise<Measured> {
  installServers(missingServers(['redis', 'postgres']));
  const folder = mkdtempSync(join(tmpdir(), 'leadsync-bench-'));
  const servers = new Servers();
  const worlds = new Set<World>();
  const close = async () => {
    await Promise.allSettled([servers.close(), ...[...worlds].map((world) => world.close())]);
    // If a signal ended the benchmark, the process that it was measuring still runs.
    endChildren();
    // A process that is still exiting may write to the folder.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => void close().then(() => process.exit(130)));
  try {
    return await measureRows(options, { folder, servers }, worlds);
  } finally {
    await close();
  }
}

/** Measures each row with services and receivers of its own, so that rows do not affect each other. Continues after a row that fails. */
async function measureRows(
  options: BenchOptions,
  parts: Pick<Workbench, 'folder' | 'servers'>,
  worlds: Set<World>,
): Promise<Measured> {
  const { quick, runs } = options;
  const [at, startMs] = [new Date().toISOString(), performance.now()];
  const [rows, failed]: [Row[], number[]] = [[], []];
  for (const work of works.filter(({ number }) => options.only?.has(number) ?? true)) {
    const say = (text: string) =>
      tell(`${seconds(startMs).padStart(5)} s  ${work.number} ${work.name}: ${text}`);
    say('starts');
    const env = profileEnvironment(options.profile, work.number);
    const world = await World.start();
    worlds.add(world);
    try {
      const measured = await work.measure({ ...parts, world, quick, runs, env, tell: say });
      rows.push({ number: work.number, ...measured });
    } catch (error) {
      say(`failed: ${error instanceof Error ? error.stack : error}`);
      failed.push(work.number);
    }
    worlds.delete(world);
    await world.close();
  }
  const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
  const machine = await describeMachine(parts.folder, parts.servers);
  const report = { at, version, seconds: Number(seconds(startMs)), quick, runs, machine, rows };
  return { report, failed };
}

function profileEnvironment(folder: string | undefined, row: number): Readonly<Record<string, string>> {
  if (folder === undefined) return {};
  return { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${resolve(folder, `row-${row}`)}` };
}

function seconds(sinceMs: number): string {
  return ((performance.now() - sinceMs) / 1000).toFixed(0);
}

/** Writes progress to standard error, because standard output has the table. */
function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}
