// `npm run demo`: runs a stub of a lead listing service that keeps listing new leads, leadsync, and two destinations, all on this
// machine. Afterwards only the folder .demo remains, with the ledger and the files.
import { appendFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Stub, startStub } from '../test/stub/stub.ts';
import { type Daemon, startDaemon } from '../test/support/program/leadsync.ts';
import { startArrivals } from './demo/arrivals.ts';
import { readDemoOptions } from './demo/options.ts';
import { compare, comparisonLine, isExact } from './showcase/comparison.ts';
import { ShowcaseFolder } from './showcase/folder.ts';
import { freePortLike, portOf } from './showcase/free-port-like.ts';
import { LeadFiles } from './showcase/lead-files.ts';
import { StopRequest } from './showcase/stop-request.ts';
import type { Tally } from './showcase/tally.ts';

const WEBHOOK_SECRET = 'whsec_bm90IGEgc2VjcmV0OiB0aGlzIGlzIHRoZSBkZW1v';
/** Maximum wait for the last leads to arrive. */
const LAST_ARRIVALS_MS = 30_000;
const CONFIG = 'config/demo.yaml';
const commands = (...lines: readonly string[]) =>
  lines.map((words) => `  npm run -s leadsync -- ${words} -c ${CONFIG}\n`).join('');
/** Commands that read the ledger, so they work during the demo and after it. */
const READING = ['trace 3', 'deliveries'];

/** Addresses and port of the parts of the demo, as variables of its configuration. */
interface Addresses {
  readonly DEMO_SERVICE_URL: string;
  readonly DEMO_WEBHOOK_URL: string;
  readonly DEMO_ADMIN_PORT: string;
}

/** The defaults of the configuration, which the demo uses if the ports are free. */
const DEFAULTS: Addresses = {
  DEMO_SERVICE_URL: 'http://127.0.0.1:8080',
  DEMO_WEBHOOK_URL: 'http://127.0.0.1:8081/hooks/leads',
  DEMO_ADMIN_PORT: '9464',
};

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = new ShowcaseFolder(process.env['DEMO_DIR'] || join(root, '.demo'), 'demo');
const options = readDemoOptions(process.argv.slice(2));

try {
  process.exitCode = await demo();
} catch (error) {
  say(`The demo failed: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

async function demo(): Promise<number> {
  if (!folder.take()) {
    say('Another demo is running in this checkout. Stop it first.\n');
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
    port: await freePortLike(portOf(DEFAULTS.DEMO_SERVICE_URL)),
    seed: Date.now() % 1_000_000,
  });
  const { receiver, tally } = await startArrivals(
    await freePortLike(portOf(DEFAULTS.DEMO_WEBHOOK_URL)),
    WEBHOOK_SECRET,
    (line) => say(`  ${oneLine(line)}\n`),
  );
  const addresses = {
    DEMO_SERVICE_URL: stub.url,
    DEMO_WEBHOOK_URL: receiver.url,
    DEMO_ADMIN_PORT: String(await freePortLike(Number(DEFAULTS.DEMO_ADMIN_PORT))),
  };
  const csv = LeadFiles.csv(join(folder.path, 'drop'));
  const announceFiles = () => csv.announce((line) => say(`  ${line}\n`));
  const announcing = setInterval(() => void announceFiles(), 250);
  try {
    say(`A stub of the service lists ${options.leads} leads, and keeps adding new ones.\n`);
    daemon = await startLeadsync(stub, addresses);
    say(introduction(daemon.adminUrl));
    const ended = daemon.exited.then(() => 'ended' as const);
    const time =
      options.seconds === undefined ? [] : [sleep(options.seconds * 1_000, 'time', { ref: false })];
    const why = await Promise.race([ended, stop.asked, ...time]);
    if (why === 'ended')
      throw new Error(`leadsync exited unexpectedly. See ${relative(root, logFile())} for the reason.`);
    say('\nStopping: the stub adds no more leads. Waiting for the last ones to arrive …\n');
    stub.arrive(0);
    await lastArrivals(stub, [() => tally, () => csv.tally()]);
    const exit = await daemon.kill('SIGTERM');
    await announceFiles();
    return summary(stub, tally, await csv.tally(), exit.code);
  } finally {
    clearInterval(announcing);
    if (daemon?.process.exitCode === null) daemon.process.kill('SIGKILL');
    await Promise.all([stub.close(), receiver.close()]);
    folder.release();
  }
}

async function startLeadsync(stub: Stub, addresses: Addresses): Promise<Daemon> {
  const env = {
    DEMO_DIR: folder.path,
    DEMO_CLIENT_ID: stub.clientId,
    DEMO_CLIENT_SECRET: stub.clientSecret,
    DEMO_WEBHOOK_SECRET: WEBHOOK_SECRET,
    ...addresses,
  };
  folder.writeEnvironment(env);
  return startDaemon(join(root, CONFIG), `http://127.0.0.1:${addresses.DEMO_ADMIN_PORT}`, {
    cwd: root,
    onStderr: (text) => appendFileSync(logFile(), text),
    env: { LEADSYNC_COMMAND: process.env['LEADSYNC_COMMAND'], ...env },
  });
}

/** Waits until the stub has served all of its leads and both destinations have each of them, for at most `LAST_ARRIVALS_MS`. */
async function lastArrivals(stub: Stub, tallies: readonly (() => Tally | Promise<Tally>)[]): Promise<void> {
  const deadline = performance.now() + LAST_ARRIVALS_MS;
  while (performance.now() < deadline) {
    const served = stub.served.ids();
    const arrived = await Promise.all(tallies.map((tally) => tally()));
    const everywhere = arrived.every((tally) => compare(served, tally).missing.length === 0);
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
      (orderly ? '' : `  leadsync did not stop cleanly: exit code ${exitCode}\n`) +
      (right
        ? `\nEvery lead arrived exactly once, both ways. You can still inspect the ledger:\n\n${commands(...READING)}\nThe next \`npm run demo\` starts from the beginning.\n`
        : `\nThis result is wrong. ${relative(root, logFile())} may show why.\n`),
  );
  return right ? 0 : 1;
}

function introduction(adminUrl: string): string {
  const until = options.seconds === undefined ? 'until Ctrl-C' : `for ${options.seconds} s, or until Ctrl-C`;
  return `leadsync delivers them by webhook and in CSV files, ${until}.

Open this page in a browser now:

  ${adminUrl}

Try these commands in a second terminal, in this folder:

${commands('status', ...READING, 'check', 'test-sink crm')}  curl ${adminUrl}/metrics

The ledger is in .demo/data, the CSV files are in .demo/drop, and the log is
.demo/leadsync.log. The configuration is ${CONFIG}. Arrivals:

`;
}

/** Truncates a text to one line of the terminal. Wide characters count as two columns. */
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
  return join(folder.path, 'leadsync.log');
}

function say(text: string): void {
  process.stdout.write(text);
}
