// Runs a program of this checkout on a machine with Node 20 or newer and npm. Installs the packages if they are missing or out of
// date, then starts the program on Node 24, which is one of them.
//
//   node scripts/bootstrap.mjs PROGRAM [ARGUMENT …]       e.g.  node scripts/bootstrap.mjs bin/leadsync.js status
//
// Leaves standard output to the program. Written in plain JavaScript, with built-in modules only.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const OLDEST_NODE = 24;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const installedNode = join(root, 'node_modules', '.bin', process.platform === 'win32' ? 'node.cmd' : 'node');
/** The runs that show leadsync, by their configuration. */
const SHOWCASES = {
  'config/demo.yaml': {
    script: 'scripts/demo.ts',
    start: 'npm run demo',
    folderVariable: 'DEMO_DIR',
    folder: '.demo',
  },
  'config/world.yaml': {
    script: 'scripts/world.ts',
    start: 'npm run world',
    folderVariable: 'WORLD_DIR',
    folder: '.world',
  },
};
const stamp = join(root, 'node_modules', '.installed-from');

const [program, ...args] = process.argv.slice(2);
if (program === undefined) fail('usage: node scripts/bootstrap.mjs PROGRAM [ARGUMENT …]', 2);
if (majorOf(process.versions.node) < 20) {
  fail(
    `leadsync needs Node 20 or newer to start, and this is Node ${process.versions.node}. Install a newer one from https://nodejs.org.`,
  );
}
// npm runs a script in the folder of the package. Paths on the command line are relative to the folder of the operator.
const stands = ['leadsync', 'start'].includes(process.env.npm_lifecycle_event)
  ? process.env.INIT_CWD
  : undefined;
const isOutside = stands !== undefined && !`${stands}/`.startsWith(`${root}/`);
// Hints name the command as it is typed in a checkout, unless the operator has set LEADSYNC_COMMAND.
if (['bin/leadsync.js', ...Object.values(SHOWCASES).map(({ script }) => script)].includes(program))
  process.env.LEADSYNC_COMMAND ||= `npm ${isOutside ? `--prefix ${root} ` : ''}run -s leadsync --`;
if (!installed()) install();
if (stands !== undefined) process.chdir(stands);
if (program === 'bin/leadsync.js') takeEnvironmentOfShowcase(args);
await run(resolve(root, program), args);

/**
 * If the command line, or LEADSYNC_CONFIG, names the configuration of a showcase, sets the variables that its last run stored, so that
 * commands in a second terminal reach that run.
 */
function takeEnvironmentOfShowcase(words) {
  const named = [process.env.LEADSYNC_CONFIG ?? '', ...words].map((word) =>
    resolve(word.replace(/^(?:--config=|-c)/, '')),
  );
  const showcase = Object.entries(SHOWCASES).find(([config]) => named.includes(join(root, config)))?.[1];
  if (showcase === undefined) return;
  process.env.LEADSYNC_START ||= showcase.start;
  const file = join(process.env[showcase.folderVariable] || join(root, showcase.folder), 'environment');
  if (!existsSync(file)) return;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (name !== undefined) process.env[name] ??= value;
  }
}

/** Whether node_modules matches package-lock.json: this script's stamp has its hash, or npm's own file is newer than it. */
function installed() {
  const byNpm = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(byNpm)) return false;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash()) return true;
  return statSync(byNpm).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs;
}

function install() {
  // npm ci would follow a link and empty its target, which may belong to another checkout.
  if (lstatSync(join(root, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink()) {
    fail(
      'node_modules is a link to another folder, whose packages do not match package-lock.json. Remove the link, or install the packages there, then run this again.',
    );
  }
  say('Installing the packages of package-lock.json in node_modules (npm ci; about a minute, once) …');
  const npm = process.env.npm_execpath;
  const [command, ...first] = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  // --include=dev: NODE_ENV=production would leave out Node 24 itself. Both outputs go to standard error.
  const flags = [
    'ci',
    '--include=dev',
    '--no-audit',
    '--no-fund',
    '--no-progress',
    '--loglevel=error',
    '--engine-strict=false',
  ];
  const result = spawnSync(command, [...first, ...flags], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32' && command === 'npm',
  });
  if (result.signal) process.exit(128 + (constants.signals[result.signal] ?? 0));
  if (result.error?.code === 'ENOENT')
    fail('There is no npm. Install it (it is part of Node), then run this again.');
  if (result.error) fail(`npm could not be started: ${result.error.message}`);
  if (result.status !== 0) {
    fail(
      'npm could not install the packages; see its messages above. Check that the package registry can be reached and that the disk has space, then run this again.',
    );
  }
  writeFileSync(stamp, lockHash());
}

function lockHash() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
}

async function run(path, programArgs) {
  // Usually true: npm puts node_modules/.bin first on PATH, so this is already the Node of the packages.
  if (majorOf(process.versions.node) >= OLDEST_NODE) {
    process.argv = [process.execPath, path, ...programArgs];
    await import(pathToFileURL(path).href);
    return;
  }
  if (!existsSync(installedNode)) {
    fail(
      `Node ${OLDEST_NODE} is one of the packages, but it is not in node_modules. Probably npm is configured to ignore install scripts.\n` +
        `Run \`npm ci --include=dev --ignore-scripts=false\`, or install Node ${OLDEST_NODE} on this machine, then run this again.`,
    );
  }
  runOnInstalledNode(path, programArgs);
}

function runOnInstalledNode(path, programArgs) {
  // Put the installed Node first on PATH, so that shells and programs started later find it, too.
  const PATH = `${dirname(installedNode)}${process.platform === 'win32' ? ';' : ':'}${process.env.PATH ?? ''}`;
  const child = spawn(installedNode, [...process.execArgv, path, ...programArgs], {
    stdio: 'inherit',
    env: { ...process.env, PATH },
  });
  const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'];
  const forward = (signal) => child.kill(signal);
  for (const signal of forwarded) process.on(signal, forward);
  child.on('error', (error) => fail(`${installedNode} could not be started: ${error.message}`));
  child.on('exit', (code, signal) => {
    for (const name of forwarded) process.off(name, forward);
    // End by the same signal, so that the parent process sees how the program ended.
    if (signal) process.kill(process.pid, signal);
    else process.exitCode = code ?? 1;
  });
}

function majorOf(version) {
  return Number(version.split('.')[0]);
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

function fail(text, exitCode = 1) {
  say(text);
  process.exit(exitCode);
}
