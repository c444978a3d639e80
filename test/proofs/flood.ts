// Ten thousand requests a second on /metrics and /livez while a backlog drains: is delivery slowed? Turns without and with the
// flood follow each other on the same leadsync, and the rates are compared. `npm run proof:flood`; `-- --help` says more.
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { startStub } from '../stub/stub.ts';
import { readOrExit } from '../support/program/command-line.ts';
import { runLeadsync, startDaemon, writeConfig } from '../support/program/leadsync.ts';
import { openRunFolder } from '../support/program/run-folder.ts';
import { type Opened, runTool, ToolFailure } from '../support/program/tool.ts';
import { until } from '../support/time/until.ts';
import { type CountingReceiver, startCountingReceiver } from './counting-receiver.ts';
import { readOptions, USAGE } from './flood-options.ts';
import type { Flooded, FloodOptions } from './flooding.ts';

/** How long a turn is measured, and how long it goes on before, in ms. */
const MEASURED_MS = 2_500;
const BEFORE_MS = 500;
/** Who floods and who receives share the machine with leadsync. */
const LIMIT = 0.85;
const PATIENCE_MS = 300_000;

const options = readOrExit(readOptions, USAGE);

await runTool(async (opened) => {
  const { receiver, adminUrl } = await aBacklog(options.leads, opened);
  const flood = await opened.add(
    () => startFlood({ port: Number(new URL(adminUrl).port), perSecond: options.perSecond }),
    (one) => one.terminate(),
  );
  const rates = { calm: [] as number[], flood: [] as number[] };
  for (let round = 0; round < options.rounds; round += 1) {
    rates.calm.push(await rateOf(receiver));
    flood.postMessage('on');
    rates.flood.push(await rateOf(receiver));
    flood.postMessage('off');
    const [{ due, sent, answered }] = (await once(flood, 'message')) as [Flooded];
    say(
      `${rates.calm.at(-1)?.toFixed(0)} leads/s, and ${rates.flood.at(-1)?.toFixed(0)} in the flood: ${due} requests were due, ${sent} were sent, ${answered} answered`,
    );
  }
  return report(middle(rates.calm), middle(rates.flood));
});

/** A leadsync that begins to deliver so many leads to a webhook. */
async function aBacklog(
  leads: number,
  opened: Opened,
): Promise<{ receiver: CountingReceiver; adminUrl: string }> {
  const folder = await opened.add(openRunFolder, (one) => one.close());
  const stub = await opened.add(
    () => startStub({ leads, etag: 'strong' }),
    (one) => one.close(),
  );
  const receiver = await opened.add(startCountingReceiver, (one) => one.close());
  const { url: base_url, clientId: client_id, clientSecret: client_secret } = stub;
  const { configFile, adminUrl } = await writeConfig(join(folder.path), {
    sources: { main: { base_url, client_id, client_secret, poll: { every: '1h' } } },
    sinks: { crm: { type: 'webhook', url: receiver.url, concurrency: 50 } },
    log: { format: 'json', level: 'error' },
  });
  const daemon = await opened.add(
    () => startDaemon(configFile, adminUrl),
    (one) => one.kill('SIGKILL'),
  );
  await runLeadsync(['pause', 'crm', '-c', configFile]);
  const pending = async () => {
    const { stdout } = await runLeadsync(['status', '--json', '-c', configFile]);
    return Number(JSON.parse(stdout).sources[0]?.leads_listed);
  };
  await until('the listing was read', async () => (await pending()) === leads, PATIENCE_MS);
  await runLeadsync(['resume', 'crm', '-c', configFile]);
  await until('deliveries go on', () => receiver.arrivedMs.length > 0, PATIENCE_MS);
  if (daemon.process.exitCode !== null) throw new ToolFailure('leadsync has ended by itself.');
  return { receiver, adminUrl };
}

async function startFlood(workerData: FloodOptions): Promise<Worker> {
  const worker = new Worker(new URL('./flooding.ts', import.meta.url), { workerData });
  await once(worker, 'online');
  return worker;
}

/** How many leads arrive in a second, over the next moments. */
async function rateOf(receiver: CountingReceiver): Promise<number> {
  await sleep(BEFORE_MS);
  const [before, startMs] = [receiver.arrivedMs.length, performance.now()];
  await sleep(MEASURED_MS);
  if (receiver.leads >= options.leads)
    throw new ToolFailure('The backlog was at its end too soon: give more --leads, or fewer --rounds.');
  return (receiver.arrivedMs.length - before) / ((performance.now() - startMs) / 1000);
}

function middle(rates: readonly number[]): number {
  return rates.toSorted((a, b) => a - b)[Math.floor(rates.length / 2)] ?? 0;
}

function report(calm: number, flood: number): 0 | 1 {
  const share = flood / calm;
  const ok = share >= LIMIT;
  say(
    `${calm.toFixed(0)} leads/s without the flood, ${flood.toFixed(0)} with it (medians): ${(100 * share).toFixed(0)}%`,
  );
  say(ok ? 'as promised' : `NOT as promised: less than ${100 * LIMIT}%`);
  return ok ? 0 : 1;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
