// Runs a program of this checkout on a machine with any Node from 20 on and npm: installs the packages when they are
// missing or out of date, then starts the program on Node 24, which is one of those packages.
//
//   node scripts/bootstrap.mjs PROGRAM [ARGUMENT …]       e.g.  node scripts/bootstrap.mjs bin/leadsync.js status
//
// Writes nothing to standard output: that is the program's own. Plain JavaScript, built-in modules only.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const OLDEST_NODE = 24;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const installedNode = join(root, 'node_modules', '.bin', process.platform === 'win32' ? 'node.cmd' : 'node');
const stamp = join(root, 'node_modules', '.installed-from');

const [program, ...args] = process.argv.slice(2);
if (program === undefined) fail('usage: node scripts/bootstrap.mjs PROGRAM [ARGUMENT …]', 2);
if (majorOf(process.versions.node) < 20) {
  fail(
    `This needs Node 20 or newer to start with, and this is Node ${process.versions.node}. Install a newer one from https://nodejs.org.`,
  );
}
// npm runs a script in the package's folder; the operator's paths are meant from where the operator stands.
const stands = ['leadsync', 'start'].includes(process.env.npm_lifecycle_event)
  ? process.env.INIT_CWD
  : undefined;
const isOutside = stands !== undefined && !`${stands}/`.startsWith(`${root}/`);
// leadsync's hints name the command as it is typed in a checkout, unless somebody has said otherwise.
if (['bin/leadsync.js', 'scripts/demo.ts'].includes(program))
  process.env.LEADSYNC_COMMAND ||= `npm ${isOutside ? `--prefix ${root} ` : ''}run -s leadsync --`;
if (!installed()) install();
if (stands !== undefined) process.chdir(stands);
if (program === 'bin/leadsync.js' && namesDemo(args)) takeDemoEnvironment();
await run(resolve(root, program), args);

/** Whether the command line, or LEADSYNC_CONFIG, names the demo's configuration. */
function namesDemo(words) {
  const named = [process.env.LEADSYNC_CONFIG ?? '', ...words].map((word) =>
    resolve(word.replace(/^(?:--config=|-c)/, '')),
  );
  return named.includes(join(root, 'config/demo.yaml'));
}

/** Takes over the addresses that the last `npm run demo` has written down, so that a second terminal means that demo. */
function takeDemoEnvironment() {
  process.env.LEADSYNC_START ||= 'npm run demo';
  const file = join(process.env.DEMO_DIR || join(root, '.demo'), 'environment');
  if (!existsSync(file)) return;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (name !== undefined) process.env[name] ??= value;
  }
}

/** Whether node_modules was made from today's package-lock.json: by this script's stamp, or by npm's own file being newer. */
function installed() {
  const byNpm = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(byNpm)) return false;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash()) return true;
  return statSync(byNpm).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs;
}

function install() {
  // npm ci empties the folder first, and would follow the link to do so: that folder belongs to somebody else.
  if (lstatSync(join(root, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink()) {
    fail(
      'node_modules is a link to a folder elsewhere, and it does not fit package-lock.json. Remove the link, or install there, then run this again.',
    );
  }
  say(
    'Installing the packages that package-lock.json names into node_modules (npm ci; about a minute, once) …',
  );
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
    fail('npm was not found. Install it (it comes with Node), then run this again.');
  if (result.error) fail(`npm could not be started: ${result.error.message}`);
  if (result.status !== 0) {
    fail(
      'The packages could not be installed; npm said why above. Is the package registry within reach, and is there room on the disk? Then run this again.',
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
  // Also when this Node would do: npm puts the packages' own Node first on PATH, so mostly this is it already.
  if (majorOf(process.versions.node) >= OLDEST_NODE) {
    process.argv = [process.execPath, path, ...programArgs];
    await import(pathToFileURL(path).href);
    return;
  }
  if (!existsSync(installedNode)) {
    fail(
      `Node ${OLDEST_NODE} is one of the packages, but it is not in node_modules: npm was probably told to ignore install scripts.\n` +
        `Run \`npm ci --include=dev --ignore-scripts=false\`, or install Node ${OLDEST_NODE} on this machine, then run this again.`,
    );
  }
  runOnInstalledNode(path, programArgs);
}

function runOnInstalledNode(path, programArgs) {
  // A shell, or a program started later, must find the new Node as well, wherever the old one is on PATH.
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
    // Ending by the same signal tells whoever waits for us what really happened.
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
