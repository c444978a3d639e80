// `npm run world`: two services, nine destinations that fail and recover by a timetable, and leadsync between them, all on this machine.
// Its pages, commands, metrics and alerts can be watched meanwhile. Afterwards only the folder .world remains.
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type OidcStub, startOidcStub } from '../test/stub/oidc/oidc-stub.ts';
import { readOrExit } from '../test/support/program/command-line.ts';
import type { Daemon } from '../test/support/program/leadsync.ts';
import { Opened } from '../test/support/program/tool.ts';
import { ShowcaseFolder } from './showcase/folder.ts';
import { freePortLike } from './showcase/free-port-like.ts';
import { StopRequest } from './showcase/stop-request.ts';
import { type AlertReceiver, startAlertReceiver } from './world/alert-receiver.ts';
import { BlockableFolder } from './world/blockable-folder.ts';
import { ConfigurationFile, TRIAL } from './world/configuration-file.ts';
import { Destinations } from './world/destinations.ts';
import { introduction, newTokens, type Tokens, worldEnvironment } from './world/introduction.ts';
import { Journal } from './world/journal.ts';
import { lackOf } from './world/lack.ts';
import { lastArrivals } from './world/last-arrivals.ts';
import { LeadsyncInWorld } from './world/leadsync-in-world.ts';
import { Operator } from './world/operator.ts';
import { readWorldOptions, USAGE } from './world/options.ts';
import { Photographer } from './world/pictures/photographer.ts';
import { play } from './world/play.ts';
import { type Ask, apiOf, ProblemWatch } from './world/problem-watch.ts';
import { Services } from './world/services.ts';
import { isRight, summaryOf } from './world/summary.ts';
import type { World } from './world/timetable.ts';

const CONFIG = 'config/world.yaml';
const ADMIN_PORT = 9470;
const WEBHOOK_SECRET = 'whsec_dGhpcyBpcyB0aGUgc2VjcmV0IG9mIHRoZSB3b3JsZA==';

/** How long the services keep leadsync from its first listing, for the pictures without a lead. */
const BEFORE_PICTURES_MS = 25_000;

const options = readOrExit(readWorldOptions, USAGE);
const root = fileURLToPath(new URL('..', import.meta.url));
const folder = new ShowcaseFolder(process.env['WORLD_DIR'] || join(root, '.world'), 'world');
const journal = new Journal();

process.exitCode = await main();

async function main(): Promise<number> {
  const lack = lackOf(options);
  if (lack !== undefined) return failed(lack);
  if (!folder.take()) return failed('Another world is running in this checkout. Stop it first.');
  const opened = new Opened();
  const stop = new StopRequest(() => void opened.stop().finally(() => process.exit(130)));
  try {
    return await run(opened, stop);
  } catch (error) {
    return failed(`The world failed: ${error instanceof Error ? error.message : error}`);
  } finally {
    for (const failure of await opened.stop()) failed(`It could not be closed: ${failure}`);
    folder.release();
  }
}

async function run(opened: Opened, stop: StopRequest): Promise<number> {
  process.stdout.write('Starting two services, PostgreSQL, seven receivers and leadsync …\n\n');
  const services = await Services.start(opened, options);
  const destinations = await Destinations.start(opened, {
    folder: folder.path,
    secret: WEBHOOK_SECRET,
    isNew: (lead) => services.isNew(lead),
  });
  const alerts = await startAlerts(opened);
  const provider = await opened.add(
    () => startOidcStub(),
    (one) => one.close(),
  );
  const tokens = newTokens();
  const variables = worldEnvironment({
    folder: folder.path,
    speed: options.speed,
    services,
    destinations,
    provider,
    alertsUrl: alerts.url,
    webhookSecret: WEBHOOK_SECRET,
    adminPort: await freePortLike(ADMIN_PORT),
    tokens,
  });
  folder.writeEnvironment(variables);
  const configuration = new ConfigurationFile(join(root, CONFIG), join(folder.path, 'leadsync.yaml'));
  const leadsync = new LeadsyncInWorld(
    { root, configFile: configuration.path, folder: folder.path },
    variables,
  );
  await Promise.all([leadsync.setUpHubSpot(), leadsync.logIn()]);
  if (options.pictures !== undefined) services.holdBack(BEFORE_PICTURES_MS);
  const daemon = await leadsync.run(opened);
  const ask = apiOf(leadsync.adminUrl, tokens.cli);
  const photographer = await startPhotographer(opened, {
    adminUrl: leadsync.adminUrl,
    tokens,
    provider,
    ask,
  });
  await photographer?.nothingYet();
  process.stdout.write(
    introduction(
      { adminUrl: leadsync.adminUrl, config: CONFIG, folder: relative(root, folder.path), tokens },
      options,
    ),
  );
  journal.restart();
  const watch = await watchProblems(opened, ask);
  const exports = new BlockableFolder(join(folder.path, 'exports'));
  const backups = new BlockableFolder(join(folder.path, 'backups'));
  const world: World = {
    services,
    destinations,
    configuration,
    operator: new Operator(ask),
    logIn: () => leadsync.logIn(),
    blockExports: (isBlocked) => exports.block(isBlocked),
    blockBackups: (isBlocked) => backups.block(isBlocked),
    forgetTrial: () => leadsync.forget(TRIAL),
  };
  services.grow(options.rate);
  await play(world, { ...options, stopped: whenStopped(daemon, stop), watch, photographer, journal });
  if (daemon.process.exitCode !== null)
    throw new Error(`leadsync exited unexpectedly. See ${relative(root, folder.path)}/leadsync.log.`);
  services.grow(0);
  journal.note('world', 'everything works; waiting for the last leads');
  await recover(world);
  const arrived = await lastArrivals(services, destinations, ask);
  watch.stop();
  const { code } = await daemon.kill('SIGTERM');
  const isComplete = services.isAllListed() && code === 0 && arrived.every(isRight);
  process.stdout.write(
    summaryOf({ listed: services.listed().length, arrived, told: alerts.told, startedMs: journal.startedMs }),
  );
  if (code !== 0) failed(`leadsync did not stop cleanly: exit code ${code}.`);
  process.stdout.write(
    isComplete ? '\nEach lead arrived exactly once everywhere.\n' : '\nThis result is wrong.\n',
  );
  return isComplete ? 0 : 1;
}

/** Returns a signal that is aborted at Ctrl-C, and when leadsync ends by itself. */
function whenStopped(daemon: Daemon, stop: StopRequest): AbortSignal {
  const stopped = new AbortController();
  for (const end of [stop.asked, daemon.exited]) void end.then(() => stopped.abort());
  return stopped.signal;
}

/** Ends every trouble that the timetable has caused. */
async function recover(world: World): Promise<void> {
  world.blockExports(false);
  world.blockBackups(false);
  world.configuration.restore();
  // Before it resumes what is paused, so that no replayed lead is sent.
  await world.operator.cancelReplay('slow');
  world.services.break(false);
  world.services.shrink(false);
  await world.destinations.heal();
  if (world.services.isLoginRevoked) await world.logIn();
}

function startAlerts(opened: Opened): Promise<AlertReceiver> {
  const file = join(folder.path, 'alerts.jsonl');
  return opened.add(
    () =>
      startAlertReceiver(WEBHOOK_SECRET, file, ({ state, condition, about, what }) =>
        journal.note('alert', `${state}: ${condition}${about === null ? '' : ` (${about})`}: ${what}`),
      ),
    (alerts) => alerts.close(),
  );
}

async function startPhotographer(
  opened: Opened,
  parts: { adminUrl: string; tokens: Tokens; provider: OidcStub; ask: Ask },
): Promise<Photographer | undefined> {
  if (options.pictures === undefined) return undefined;
  return Photographer.start(opened, { ...parts, folder: options.pictures, journal });
}

function watchProblems(opened: Opened, ask: Ask): Promise<ProblemWatch> {
  return opened.add(
    () => {
      const watch = new ProblemWatch(ask, (change, problem) =>
        journal.note('problem', `${change}: ${problem}`),
      );
      watch.start();
      return watch;
    },
    (watch) => watch.stop(),
  );
}

function failed(sentence: string): number {
  process.stderr.write(`${sentence}\n`);
  return 1;
}
