// `npm run demo`: a lead listing service with leads that keep arriving, leadsync, and the places where it brings them.
// All of it on this machine, and gone afterwards but for the folder .demo with the ledger and the files.
import { appendFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Stub, startStub } from '../test/stub/stub.ts';
import { type Daemon, startDaemon } from '../test/support/leadsync.ts';
import { freePort } from '../test/support/server-process.ts';
import { startArrivals, type Tally } from './demo/arrivals.ts';
import { compare, comparisonLine, isExact } from './demo/comparison.ts';
import { CsvFolder } from './demo/csv-folder.ts';
import { freshFolder, releaseFolder } from './demo/demo-folder.ts';
import { readDemoOptions } from './demo/options.ts';
import { StopRequest } from './demo/stop-request.ts';

const WEBHOOK_SECRET = 'whsec_bm90IGEgc2VjcmV0OiB0aGlzIGlzIHRoZSBkZW1v';
/** How long the last leads may take to arrive, in ms. */
const LAST_ARRIVALS_MS = 30_000;
const CONFIG = 'config/demo.yaml';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, '.demo');
const options = readDemoOptions(process.argv.slice(2));

try {
  process.exitCode = await demo();
} catch (error) {
  say(`The demo could not go on: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

async function demo(): Promise<number> {
  if (!freshFolder(folder)) {
    say('Another demo is running in this checkout; stop that one first.\n');
    return 1;
  }
  let daemon: Daemon | undefined;
  const stop = new StopRequest(() => {
    daemon?.process.kill('SIGKILL');
    process.exit(130);
  });
  const stub = await startStub({
    leads: options.leads,
    leadsPerSecond: options.rate,
    seed: Date.now() % 1_000_000,
  });
  const { receiver, tally } = await startArrivals(WEBHOOK_SECRET, (line) => say(`  ${line}\n`));
  const csv = new CsvFolder(join(folder, 'drop'));
  const announcing = setInterval(() => csv.announce((line) => say(`  ${line}\n`)), 250);
  try {
    say(`A lead listing service is at ${stub.url}, with ${options.leads} leads and more to come.\n`);
    daemon = await startLeadsync(stub, receiver.url);
    say(words(daemon.adminUrl));
    const ended = daemon.exited.then(() => 'ended' as const);
    const time =
      options.seconds === undefined ? [] : [sleep(options.seconds * 1_000, 'time', { ref: false })];
    const why = await Promise.race([ended, stop.asked, ...time]);
    if (why === 'ended')
      throw new Error(`leadsync has ended by itself; ${relative(root, logFile())} says why.`);
    say('\nStopping: no new leads; waiting for the last ones to arrive …\n');
    stub.arrive(0);
    await lastArrivals(stub, [() => tally, () => csv.tally()]);
    const exit = await daemon.kill('SIGTERM');
    csv.announce((line) => say(`  ${line}\n`));
    return summary(stub, tally, csv.tally(), exit.code);
  } finally {
    clearInterval(announcing);
    if (daemon?.process.exitCode === null) daemon.process.kill('SIGKILL');
    await Promise.all([stub.close(), receiver.close()]);
    releaseFolder(folder);
  }
}

async function startLeadsync(stub: Stub, webhookUrl: string): Promise<Daemon> {
  const port = await freePort();
  return startDaemon(join(root, CONFIG), `http://127.0.0.1:${port}`, {
    cwd: root,
    onStderr: (text) => appendFileSync(logFile(), text),
    env: {
      LEADSYNC_COMMAND: process.env['LEADSYNC_COMMAND'],
      DEMO_DIR: folder,
      DEMO_SERVICE_URL: stub.url,
      DEMO_CLIENT_ID: stub.clientId,
      DEMO_CLIENT_SECRET: stub.clientSecret,
      DEMO_WEBHOOK_URL: webhookUrl,
      DEMO_WEBHOOK_SECRET: WEBHOOK_SECRET,
      DEMO_ADMIN_PORT: String(port),
    },
  });
}

/** Waits until all that is shown was served, and all that was served has arrived everywhere; not for ever. */
async function lastArrivals(stub: Stub, tallies: readonly (() => Tally)[]): Promise<void> {
  const deadline = performance.now() + LAST_ARRIVALS_MS;
  while (performance.now() < deadline) {
    const served = stub.served.ids();
    const everywhere = tallies.every((tally) => compare(served, tally()).missing.length === 0);
    if (served.length >= stub.shown && everywhere) return;
    await sleep(200);
  }
}

function summary(stub: Stub, webhook: Tally, csv: Tally, exitCode: number | null): number {
  const served = stub.served.ids();
  const byWebhook = compare(served, webhook);
  const byCsv = compare(served, csv);
  const orderly = exitCode === 0;
  const right = isExact(byWebhook) && isExact(byCsv) && orderly && served.length >= stub.shown;
  say(
    `\n  served       ${served.length} leads\n` +
      comparisonLine('by webhook', byWebhook) +
      comparisonLine('as CSV', byCsv) +
      (orderly ? '' : `  leadsync did not stop in order: exit code ${exitCode}\n`) +
      (right
        ? '\nEvery lead arrived exactly once, both ways.\n'
        : `\nThat is not right. ${relative(root, logFile())} may say why.\n`),
  );
  return right ? 0 : 1;
}

function words(adminUrl: string): string {
  return `leadsync is running with ${CONFIG}. It delivers each lead by webhook, and in CSV files.

  The ledger        .demo/data
  CSV files         .demo/drop
  leadsync's log    .demo/leadsync.log
  pages             ${adminUrl}

Look around from a second terminal, in this folder, while it runs or afterwards:

  npm run -s leadsync -- status -c ${CONFIG}
  npm run -s leadsync -- trace 3 -c ${CONFIG}
  npm run -s leadsync -- deliveries -c ${CONFIG}
  curl ${adminUrl}/metrics

${options.seconds === undefined ? 'Stop it with Ctrl-C.' : `It stops by itself after ${options.seconds} s, or with Ctrl-C.`} What arrives:

`;
}

function logFile(): string {
  return join(folder, 'leadsync.log');
}

function say(text: string): void {
  process.stdout.write(text);
}
