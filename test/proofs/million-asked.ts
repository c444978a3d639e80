// Every page, and every question of the API, over HTTP, on a ledger of a million leads and three million deliveries: how long each
// answer takes, and whether the process stays free for polls and deliveries meanwhile. `npm run proof:asked`.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAdmin } from '../../src/admin/server.ts';
import { StoredAlerts } from '../../src/alerts/stored-alerts.ts';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { operationsOf } from '../../src/daemon/api/operations.ts';
import { PollFailures } from '../../src/daemon/joints/poll-failures.ts';
import { Wakes } from '../../src/daemon/joints/wake.ts';
import { judgeBy } from '../../src/delivery/judge.ts';
import { QueryThread } from '../../src/ledger/queries/start-query-thread.ts';
import { openLedger } from '../../src/ledger/sqlite-ledger.ts';
import { MappingProcess } from '../../src/mapping/start-mapping-process.ts';
import { DocumentFolder } from '../../src/platform/files/document-folder.ts';
import { disk } from '../../src/platform/files/file-system.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { DiskTrend } from '../../src/status/problems/disk-trend.ts';
import { openOptions } from '../admin/asking.ts';
import { exportStateFiles } from '../exports/export-state-files.ts';
import { readOrExit } from '../support/program/command-line.ts';
import { openRunFolder } from '../support/program/run-folder.ts';
import { type Opened, runTool } from '../support/program/tool.ts';
import { makeBigLedger, SINKS } from './big-ledger.ts';
import { readOptions } from './million-options.ts';

/** No page takes longer than this, in ms. */
const LIMIT_MS = 100;
/** Times that each is asked; the middle one counts, so that a moment in which others have the machine does not. */
const TIMES = 9;
/** In 99 of 100 moments the process is kept from its other work for no longer than this, in ms. */
const STALL_MS = 20;

/** An overview is given to all who ask within a second: after it, it is computed anew. */
const SHARED_MS = 1_050;

const USAGE = `npm run proof:asked [-- [--leads N]]

Every page, and every question of the API, over HTTP, on a ledger of a million leads and three million deliveries (about 3 GB, made in
some minutes): how long each answer takes, and whether the process stays free for polls and deliveries meanwhile.

  --leads N   so many (1000000)
  --help      this text

Exit code 0: as promised; 1: not; 2: wrong usage.
`;

const { leads } = readOrExit(readOptions, USAGE);
const LATE = new Date(Date.now() - 3_600_000).toISOString();
/** Why deliveries of the large ledger are dead. */
const REASON = encodeURIComponent('It says no.');
const PAST = new Date(Date.now() - 40 * 24 * 3_600_000).toISOString();

const QUESTIONS = [
  '/overview',
  '/leads',
  '/leads?limit=200',
  `/leads?lead=${leads / 2}`,
  '/leads?service=service-19',
  '/leads?service=service-0',
  '/leads?service=none',
  `/leads?until=${PAST}`,
  `/leads?service=service-3&until=${PAST}`,
  '/leads/count',
  '/leads/count?service=service-0',
  '/leads/count?listing=gone',
  `/leads/main/${leads / 2}`,
  '/rejected-leads',
  '/deliveries/reasons',
  '/alerts',
  '/configuration',
  '/audit',
  '/log',
  '/deliveries?limit=200',
  ...SINKS.flatMap((sink) =>
    ['pending', 'delivered', 'dead', 'skipped'].map((state) => `/deliveries?sink=${sink}&state=${state}`),
  ),
  '/deliveries?state=dead',
  `/deliveries?source=main&until=${PAST}`,
  `/deliveries?lead=${leads / 2}`,
  ...SINKS.map((sink) => `/deliveries/count?sink=${sink}`),
  '/deliveries/count',
  `/deliveries/count?state=dead&since=${LATE}`,
  `/deliveries?state=dead&reason=${REASON}`,
  `/deliveries?state=delivered&delivered_since=${LATE}`,
  '/deliveries?state=pending&order=oldest',
  '/leads?order=oldest',
  '/leads?listing=gone',
  '/sinks',
  ...SINKS.flatMap((sink) => ['1h', '24h', '7d'].map((period) => `/sinks/${sink}?period=${period}`)),
  '/polls',
  '/polls?status=failed',
  '/polls?status=partial',
].map((path) => `/api/v1${path}`);

/** An audit log of 9 MB, which is about to be rotated. */
const AUDITED = Array.from({ length: 60_000 }, (_, at) =>
  JSON.stringify({
    at: new Date(Date.now() - (60_000 - at) * 60_000).toISOString(),
    who: `person-${at % 7}`,
    via: 'login',
    what: 'lead-viewed',
    source: 'main',
    lead: String(at),
    version: 1,
  }),
).join('\n');

/** What the page of the log shows. */
const LINES = Array.from({ length: 500 }, (_, at) => ({
  at: new Date(Date.now() - at * 1_000),
  level: at % 10 === 0 ? ('warn' as const) : ('info' as const),
  event: 'poll-finished',
  source: 'main',
  message: 'Source main: 1,000,000 leads listed, 3 new, 1 changed, in 31.4 s.',
}));

/** The pages, each at the address that a queries has. What one shows of a lead's content is posted for. */
const PAGES = [
  '/',
  '/leads',
  '/leads?service=service-19',
  `/leads?lead=${leads / 2}`,
  `/leads?until=${PAST.slice(0, 10)}`,
  `/leads/main/${leads / 2}`,
  `POST /leads/main/${leads / 2}/data`,
  `POST /leads/main/${leads / 2}/data?version=1`,
  `POST /leads/main/${leads / 2}/previews`,
  `/playground?source=main&lead=${leads / 2}`,
  '/deliveries',
  '/deliveries?state=dead',
  '/deliveries?state=undelivered',
  '/deliveries/reasons',
  '/alerts',
  ...SINKS.map((sink) => `/deliveries?sink=${sink}`),
  `/deliveries?since=${PAST.slice(0, 10)}`,
  `/deliveries?state=dead&reason=${REASON}`,
  `/deliveries?delivered_since=${LATE.slice(0, 10)}`,
  '/deliveries?state=pending&order=oldest',
  '/replay?sink=crm',
  '/leads?order=oldest',
  '/leads?listing=gone',
  '/sinks',
  ...SINKS.flatMap((sink) => ['1h', '24h', '7d'].map((period) => `/sinks/${sink}?period=${period}`)),
  '/polls',
  '/polls?status=failed',
  '/log',
  '/rejected',
  '/leads/find',
  '/configuration',
  '/audit',
  '/runbook',
];

await runTool(async (opened) => {
  const folder = await opened.add(openRunFolder, (one) => one.close());
  const file = join(folder.path, 'ledger.db');
  const startMs = performance.now();
  await makeBigLedger(file, leads);
  say(`a ledger of ${leads} leads, made in ${seconds(performance.now() - startMs)} s`);
  const url = await serve(file, folder.path, opened);
  return (await askAll(url)) ? 0 : 1;
});

async function serve(file: string, folder: string, opened: Opened): Promise<string> {
  const judge = judgeBy(
    () => ({ scheduleMs: [], jitter: 0 }),
    () => 0.5,
  );
  const ledger = await opened.add(
    async () => openLedger({ file, clock: systemClock, random: Math.random, judge, create: false }),
    (one) => one.close(),
  );
  const queries = await opened.add(
    async () => new QueryThread(file),
    (one) => one.close(),
  );
  const mappings = await opened.add(
    async () => new MappingProcess(() => undefined),
    (one) => one.close(),
  );
  const config = parseConfig(configText(), join(folder, 'leadsync.yaml'), { sinkTypes, env: {} });
  writeFileSync(join(folder, 'audit.jsonl'), AUDITED);
  const audit = await opened.add(
    async () => new AuditLog(folder, systemClock),
    (one) => one.close(),
  );
  const operations = operationsOf({
    audit,
    parts: {
      ledger,
      current: { config },
      rewriteCommands: (text) => text,
      role: { kind: 'run', deliver: false },
      clock: systemClock,
      wakes: new Wakes(systemClock),
      exportStates: exportStateFiles(disk, folder),
      alerts: new StoredAlerts(new DocumentFolder(disk, folder)),
      pollFailures: new PollFailures(systemClock),
      diskTrend: new DiskTrend(),
    },
    queries,
    mappings,
    unready: async () => [],
    recentLines: () => LINES,
    state: () => ({ generation: 1, loadedAt: new Date(), stale: undefined, values: config.values }),
    configuration: openOptions.configuration,
    reload: () => Promise.reject(new Error('not asked for')),
    previewReload: async () => ({ file: '', options: [], plan: [] }),
    pollNow: () => undefined,
    exportsUnderway: new Set(),
  });
  const admin = await opened.add(
    () => startAdmin({ ...openOptions, operations }),
    (one) => one.close(),
  );
  return admin.url;
}

function configText(): string {
  const sinks = SINKS.map((name) => `  ${name}: { type: csv, directory: ./drop }\n`).join('');
  return `sources:\n  main: { base_url: "http://127.0.0.1:9", client_id: a, client_secret: b }\nsinks:\n${sinks}`;
}

async function askAll(url: string): Promise<boolean> {
  await ask(url, '/api/v1/sinks'); // the thread starts with the first question
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  let slowest = 0;
  for (const question of [...QUESTIONS, ...PAGES]) {
    const taken: number[] = [];
    for (let n = 0; n < TIMES; n += 1) {
      if (holdsOverview(question)) await sleep(SHARED_MS);
      taken.push(await ask(url, question));
    }
    const middle = taken.sort((a, b) => a - b)[Math.floor(TIMES / 2)] ?? 0;
    const most = Math.max(...taken);
    slowest = Math.max(slowest, middle);
    say(`${ms(middle)} (at most ${ms(most)})  ${question}${middle > LIMIT_MS ? '   TOO SLOW' : ''}`);
  }
  delay.disable();
  const stallMs = delay.percentile(99) / 1e6;
  const ok = slowest < LIMIT_MS && stallMs < STALL_MS;
  say(`the slowest took ${ms(slowest)} (limit ${LIMIT_MS} ms)`);
  say(
    `the process was kept from other work for ${ms(stallMs)} at the 99th percentile (limit ${STALL_MS} ms)`,
  );
  say(ok ? 'as promised' : 'NOT as promised');
  return ok;
}

/** Every page tells how leadsync is, and begins with an overview. */
function holdsOverview(question: string): boolean {
  return !question.startsWith('/api/') || question === '/api/v1/overview';
}

async function ask(url: string, question: string): Promise<number> {
  const [path = '', method = 'GET'] = question.split(' ').reverse();
  const startMs = performance.now();
  const answer = await fetch(`${url}${path}`, { method, headers: { accept: 'text/html' } });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${question} answers ${answer.status}: ${text}`);
  return performance.now() - startMs;
}

function ms(taken: number): string {
  return `${taken.toFixed(0).padStart(4)} ms`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
