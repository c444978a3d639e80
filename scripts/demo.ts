// `npm run demo`: a lead listing service with leads that keep arriving, leadsync, and the places where it brings them.
// All of it on this machine, and gone afterwards but for the folder .demo with the ledger and the files.
import { appendFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Stub, startStub } from '../test/stub/stub.ts';
import { type Daemon, startDaemon } from '../test/support/program/leadsync.ts';
import { startArrivals, type Tally } from './demo/arrivals.ts';
import { compare, comparisonLine, isExact } from './demo/comparison.ts';
import { CsvFolder } from './demo/csv-folder.ts';
import { freshFolder, releaseFolder, writeEnvironment } from './demo/demo-folder.ts';
import { readDemoOptions } from './demo/options.ts';
import { portLike } from './demo/port.ts';
import { StopRequest } from './demo/stop-request.ts';

const WEBHOOK_SECRET = 'whsec_bm90IGEgc2VjcmV0OiB0aGlzIGlzIHRoZSBkZW1v';
/** How long the last leads may take to arrive, in ms. */
const LAST_ARRIVALS_MS = 30_000;
const CONFIG = 'config/demo.yaml';
const commands = (...given: readonly string[]) =>
  given.map((words) => `  npm run -s leadsync -- ${words} -c ${CONFIG}\n`).join('');
/** They read the ledger, so they work while the demo runs and afterwards. */
const READING = ['trace 3', 'deliveries'];

/** Where the demo's parts listen, by the names that the configuration reads. */
interface Addresses {
  readonly DEMO_SERVICE_URL: string;
  readonly DEMO_WEBHOOK_URL: string;
  readonly DEMO_ADMIN_PORT: string;
}

/** The configuration's own values, which are taken where they are free. */
const USUAL: Addresses = {
  DEMO_SERVICE_URL: 'http://127.0.0.1:8080',
  DEMO_WEBHOOK_URL: 'http://127.0.0.1:8081/hooks/leads',
  DEMO_ADMIN_PORT: '9464',
};

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = process.env['DEMO_DIR'] || join(root, '.demo');
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
    port: await portLike(portOf(USUAL.DEMO_SERVICE_URL)),
    seed: Date.now() % 1_000_000,
  });
  const { receiver, tally } = await startArrivals(
    await portLike(portOf(USUAL.DEMO_WEBHOOK_URL)),
    WEBHOOK_SECRET,
    (line) => say(`  ${oneLine(line)}\n`),
  );
  const addresses = {
    DEMO_SERVICE_URL: stub.url,
    DEMO_WEBHOOK_URL: receiver.url,
    DEMO_ADMIN_PORT: String(await portLike(Number(USUAL.DEMO_ADMIN_PORT))),
  };
  const csv = new CsvFolder(join(folder, 'drop'));
  const announcing = setInterval(() => csv.announce((line) => say(`  ${line}\n`)), 250);
  try {
    say(`A stand-in for the service lists ${options.leads} leads, and more as they come.\n`);
    daemon = await startLeadsync(stub, addresses);
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

async function startLeadsync(stub: Stub, addresses: Addresses): Promise<Daemon> {
  const env = {
    DEMO_DIR: folder,
    DEMO_CLIENT_ID: stub.clientId,
    DEMO_CLIENT_SECRET: stub.clientSecret,
    DEMO_WEBHOOK_SECRET: WEBHOOK_SECRET,
    ...addresses,
  };
  writeEnvironment(folder, env);
  return startDaemon(join(root, CONFIG), `http://127.0.0.1:${addresses.DEMO_ADMIN_PORT}`, {
    cwd: root,
    onStderr: (text) => appendFileSync(logFile(), text),
    env: { LEADSYNC_COMMAND: process.env['LEADSYNC_COMMAND'], ...env },
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
        ? `\nEvery lead arrived exactly once, both ways. Look at what is left:\n\n${commands(...READING)}\nWith \`npm run demo\` it begins anew.\n`
        : `\nThat is not right. ${relative(root, logFile())} may say why.\n`),
  );
  return right ? 0 : 1;
}

function words(adminUrl: string): string {
  const until = options.seconds === undefined ? 'until Ctrl-C' : `for ${options.seconds} s, or until Ctrl-C`;
  return `leadsync delivers them by webhook and in CSV files, ${until}.

Open in a browser now:

  ${adminUrl}

Look around from a second terminal, in this folder:

${commands('status', ...READING, 'check', 'test-sink crm')}  curl ${adminUrl}/metrics

It keeps the ledger in .demo/data, CSV files in .demo/drop and its log in
.demo/leadsync.log; it is configured by ${CONFIG}. What arrives:

`;
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** Cut off where the terminal's line ends: a lead has one line. Wide characters count for two. */
function oneLine(text: string): string {
  const room = process.stdout.columns ? process.stdout.columns - 3 : Number.POSITIVE_INFINITY;
  let width = 0;
  const shown = [...text].filter((character) => {
    width += isWide(character) ? 2 : 1;
    return width <= room;
  });
  return width > room ? `${shown.join('')}…` : text;
}

function isWide(character: string): boolean {
  return /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Emoji_Presentation}/u.test(
    character,
  );
}

function logFile(): string {
  return join(folder, 'leadsync.log');
}

function say(text: string): void {
  process.stdout.write(text);
}
