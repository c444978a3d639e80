// A simulated week of one leadsync, whose memory is measured all the while: does it grow? `npm run proof:week`; `-- --help` says more.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Stub, startStub } from '../stub/stub.ts';
import { builtProgram } from '../support/program/built-program.ts';
import { readOrExit } from '../support/program/command-line.ts';
import { type Daemon, startDaemon, writeConfig } from '../support/program/leadsync.ts';
import { openRunFolder } from '../support/program/run-folder.ts';
import { type Opened, runTool, ToolFailure } from '../support/program/tool.ts';
import { startPostgres } from '../support/servers/private-postgres.ts';
import { freePort } from '../support/servers/server-process.ts';
import { startWebhookReceiver } from '../support/servers/webhook-receiver.ts';
import { growthOf, type Sample } from './growth.ts';
import { readOptions, USAGE } from './week-options.ts';

const FAST_PROCESS = fileURLToPath(new URL('../support/time/fast-process.mjs', import.meta.url));
const TOKEN = 'a-token-of-the-week';
const DAY_MS = 86_400_000;
const MB = 1024 * 1024;
const FIRST_LEAD = 1;
/** How often a person's page and a monitor ask, in simulated ms. */
const LOOK_EVERY_MS = 60_000;
/** The share of its memory by which leadsync may grow in a week. What a loaded machine shows as growth without any is about a tenth of it. */
const MAX_GROWTH = 0.05;
/** The share of requests that may remain without an answer. With more, pages and metrics were not at work, and the memory says little. */
const MAX_UNANSWERED = 0.2;
const PAGES = [
  '/metrics',
  '/',
  '/sinks/flaky',
  '/deliveries',
  '/leads',
  '/polls',
  '/log',
  '/api/v1/overview',
];

const options = readOrExit(readOptions, USAGE);

await runTool(async (opened) => {
  const { daemon, stub } = await aBusyDaemon(opened);
  return report(await observe(daemon, stub, opened));
});

/** Starts a leadsync for which everything happens that happens in a week, at the speed of the options. */
async function aBusyDaemon(opened: Opened): Promise<{ readonly daemon: Daemon; readonly stub: Stub }> {
  const { leads, perDay, speed } = options;
  const folder = await opened.add(openRunFolder, (one) => one.close());
  const stub = await opened.add(
    () => startStub({ leads, firstId: FIRST_LEAD, etag: 'strong' }),
    (one) => one.close(),
  );
  const postgres = await opened.add(startPostgres, (one) => one.close());
  const receiver = () =>
    opened.add(
      () => startWebhookReceiver({ kept: 1 }),
      (one) => one.close(),
    );
  const [steady, flaky, picky, alerts] = [
    await receiver(),
    await receiver(),
    await receiver(),
    await receiver(),
  ];
  let requests = 0;
  flaky.answerAlways((_, res) => {
    requests += 1;
    res.writeHead(requests % 5 === 0 ? 503 : 204).end();
  });
  picky.answerAlways((_, res) => {
    requests += 1;
    res.writeHead(requests % 25 === 0 ? 422 : 204).end('is not a valid phone number');
  });
  const source = { base_url: stub.url, client_id: stub.clientId, client_secret: stub.clientSecret };
  const { configFile, adminUrl } = await writeConfig(folder.path, {
    sources: { north: source, south: { ...source, poll: { cron: '*/5 * * * *' } } },
    sinks: {
      steady: { type: 'webhook', url: steady.url, store_answers: 'all' },
      flaky: { type: 'webhook', url: flaky.url, concurrency: 20 },
      picky: { type: 'webhook', url: picky.url },
      unreachable: { type: 'webhook', url: `http://127.0.0.1:${await freePort()}` },
      files: { type: 'csv', directory: join(folder.path, 'files'), batch: { max: 500, wait: '10s' } },
      warehouse: { type: 'postgres', url: postgres.url },
    },
    exports: { report: { type: 'directory', directory: join(folder.path, 'exports'), every: '6h', keep: 3 } },
    backups: { safe: { type: 'directory', directory: join(folder.path, 'backups'), every: '1d', keep: 3 } },
    alerts: { to: { operators: { type: 'webhook', url: alerts.url } } },
    retention: { attempts: '2d' },
    ledger: { create: 'always' }, // PostgreSQL may take longer than leadsync waits at this speed
    admin: { token: TOKEN },
    log: { format: 'json', level: 'error' },
  });
  const daemon = await opened.add(
    async () =>
      startDaemon(configFile, adminUrl, {
        program: await builtProgram(folder.path),
        env: { FAST_TIMES: String(speed), NODE_OPTIONS: `--import ${FAST_PROCESS}` },
      }),
    (one) => one.kill('SIGKILL'),
  );
  stub.arrive((perDay * speed * 1000) / DAY_MS);
  return { daemon, stub };
}

/** What was seen of the process in a week. */
interface Observed {
  /** Its memory over the days, without the first one. */
  readonly samples: readonly Sample[];
  /** The share of the requests that it did not answer in time. */
  readonly unanswered: number;
}

/** Looks at the process once a simulated minute, as a monitor and a person would. */
async function observe(daemon: Daemon, stub: Stub, opened: Opened): Promise<Observed> {
  const samples: Sample[] = [];
  let oldest = FIRST_LEAD;
  let heapMb = 0;
  const startedMs = performance.now();
  const day = () => ((performance.now() - startedMs) * options.speed) / DAY_MS;
  let told = 0;
  let unanswered = 0;
  for (let look = 0; day() < options.days && !opened.stopped; look += 1) {
    const text = await textOf(`${daemon.adminUrl}${PAGES[look % PAGES.length]}`);
    if (text === undefined) unanswered += 1;
    else heapMb = Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1] ?? heapMb * MB) / MB;
    const sample = { day: day(), mb: residentMb(daemon) };
    samples.push(sample);
    if (sample.day >= told) {
      say(
        `day ${sample.day.toFixed(2)}: ${sample.mb.toFixed(0)} MB, of which ${heapMb.toFixed(0)} MB are used by the heap of the main thread`,
      );
      told += 0.25;
    }
    // The listing stays as long as it was, so that only time can make memory grow.
    for (; stub.shown > options.leads; oldest += 1) stub.removeLead(oldest);
    await sleep(LOOK_EVERY_MS / options.speed);
  }
  say(`${unanswered} of ${samples.length} requests of pages and metrics got no answer in time`);
  return { samples: samples.filter((sample) => sample.day >= 1), unanswered: unanswered / samples.length };
}

/**
 * Returns what leadsync answers; undefined if there was no time for that at this speed: a query or a request timed out, or the server closed the
 * connection as idle. @throws ToolFailure if it answers with any other error
 */
async function textOf(url: string): Promise<string | undefined> {
  try {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } });
    if (answer.ok) return await answer.text();
    if (answer.status !== 503) throw new ToolFailure(`${url} answered ${answer.status}.`);
    await answer.body?.cancel();
  } catch (error) {
    if (error instanceof ToolFailure) throw error;
  }
  return undefined;
}

/** Returns the resident memory of a process, in MB. @throws ToolFailure that says how the process has ended */
function residentMb({ process: { pid, exitCode, signalCode }, stderr }: Daemon): number {
  let status: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    throw new ToolFailure(`leadsync has ended (${signalCode ?? exitCode ?? 'just now'}).\n${stderr}`);
  }
  const [, kb] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
  return (Number(kb) * 1024) / MB;
}

function report({ samples, unanswered }: Observed): 0 | 1 {
  const { mbPerDay, medianMb, maxMb } = growthOf(samples);
  const inAWeek = mbPerDay * 7;
  const faults = [
    ...(inAWeek <= MAX_GROWTH * medianMb
      ? []
      : [`memory grows by more than ${100 * MAX_GROWTH} % of the median`]),
    ...(unanswered <= MAX_UNANSWERED
      ? []
      : [
          `more than ${100 * MAX_UNANSWERED} % of the requests got no answer: the machine was too busy, or --speed is too high`,
        ]),
  ];
  say(
    `${samples.length} measurements: median ${medianMb.toFixed(0)} MB, maximum ${maxMb.toFixed(0)} MB; ${inAWeek.toFixed(1)} MB more in a week (median of the slopes)`,
  );
  say(faults.length === 0 ? 'as promised' : `NOT as promised: ${faults.join('; ')}`);
  return faults.length === 0 ? 0 : 1;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
