// `npm run test:checks`: removes one safeguard at a time from a copy of the project and shows which test then fails.
// `-- --help` says more.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { readOrExit } from '../support/program/command-line.ts';
import { openRunFolder } from '../support/program/run-folder.ts';
import { type Opened, runTool, ToolFailure } from '../support/program/tool.ts';
import { installServers, missingServers } from '../support/servers/install-servers.ts';
import { startMariadb } from '../support/servers/private-mariadb.ts';
import { startPostgres } from '../support/servers/private-postgres.ts';
import { startRedis } from '../support/servers/private-redis.ts';
import { stopProcess } from '../support/servers/server-process.ts';
import { readOptions, USAGE } from './options.ts';
import type { Safeguard } from './safeguard.ts';

/** Which test noticed that a safeguard was missing. */
interface Finding {
  readonly safeguard: Safeguard;
  /** Undefined: none did, or the one that failed fails with the safeguard in place as well. */
  readonly caughtBy: string | undefined;
}

/** How tests went: the first that failed, and vitest's arguments that run it again; or how many passed. */
type Outcome = { readonly failed: string; readonly again: readonly string[] } | { readonly passed: number };

/** A copy of the project with servers of its own, where one safeguard at a time is missing. */
interface Bench {
  readonly opened: Opened;
  /** The folder of the copy. */
  readonly copy: string;
  /** Where vitest writes how it went. */
  readonly report: string;
  readonly env: NodeJS.ProcessEnv;
}

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const COPIED = [
  'src',
  'test',
  'bin',
  'config',
  'deploy',
  'docs',
  'scripts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'vitest.config.ts',
];
/** How long one file or folder of tests may take. What hangs without its safeguard is noticed as well. */
const LIMIT_MS = 600_000;
/** How many safeguards are examined at the same time. Most tests wait more than they compute. */
const BENCHES = 2;

const report = z.object({
  numPassedTests: z.number(),
  testResults: z.array(
    z.object({
      name: z.string(),
      message: z.string(),
      assertionResults: z.array(
        z.object({
          ancestorTitles: z.array(z.string()),
          title: z.string(),
          status: z.string(),
        }),
      ),
    }),
  ),
});

const options = readOrExit(readOptions, USAGE);

await runTool(async (opened) => {
  installServers(missingServers(['redis', 'postgres', 'mariadb']));
  const folder = await opened.add(openRunFolder, (one) => one.close());
  const opening = Array.from({ length: BENCHES }, (_, i) =>
    openBench(join(folder.path, `${i}`), folder.env, opened),
  );
  const findings = await examineAll(options.chosen, await Promise.all(opening));
  const missed = findings.filter(({ caughtBy }) => caughtBy === undefined).length;
  if (options.write) writeFileSync(join(PROJECT, 'docs/safeguards.md'), page(findings));
  await opened.closeAll();
  process.stdout.write(`${findings.length} safeguards removed, ${missed} unnoticed\n`);
  return missed > 0 ? 1 : 0;
});

async function openBench(folder: string, variables: NodeJS.ProcessEnv, opened: Opened): Promise<Bench> {
  const redis = await opened.add(startRedis, (one) => one.close());
  const postgres = await opened.add(startPostgres, (one) => one.close());
  const mariadb = await opened.add(startMariadb, (one) => one.close());
  const copy = join(folder, 'copy');
  for (const name of COPIED) cpSync(join(PROJECT, name), join(copy, name), { recursive: true });
  symlinkSync(join(PROJECT, 'node_modules'), join(copy, 'node_modules'));
  return {
    opened,
    copy,
    report: join(folder, 'report.json'),
    env: {
      ...process.env,
      ...variables,
      REDIS_URL: redis.url,
      DATABASE_URL: postgres.url,
      MYSQL_URL: mariadb.url,
    },
  };
}

/** Examines each safeguard at the next free bench. Returns the findings in the order of `chosen`. */
async function examineAll(chosen: readonly Safeguard[], benches: readonly Bench[]): Promise<Finding[]> {
  const findings = new Map<Safeguard, Finding>();
  const green = new Set<string>();
  const startMs = performance.now();
  const rest = chosen.values();
  const examineRest = async (bench: Bench) => {
    for (const safeguard of rest) {
      findings.set(safeguard, await examine(safeguard, green, bench));
      const minutes = (performance.now() - startMs) / 60_000;
      say(`  ${findings.size} of ${chosen.length} after ${minutes.toFixed(1)} min`);
    }
  };
  await Promise.all(benches.map(examineRest));
  return chosen.flatMap((safeguard) => findings.get(safeguard) ?? []);
}

async function examine(safeguard: Safeguard, green: Set<string>, bench: Bench): Promise<Finding> {
  const { name } = safeguard;
  const outcome = await without(safeguard, bench, () => firstToNotice(safeguard.tests, bench));
  if (!('failed' in outcome)) {
    say(`without: ${name}\n  UNNOTICED`);
    return { safeguard, caughtBy: undefined };
  }
  if (await passesOtherwise(outcome.again, green, bench)) {
    say(`without: ${name}\n  caught by: ${outcome.failed}`);
    return { safeguard, caughtBy: outcome.failed };
  }
  say(`without: ${name}\n  NO PROOF: does not pass with the safeguard in place either: ${outcome.failed}`);
  return { safeguard, caughtBy: undefined };
}

/** Does something in the copy while a safeguard is missing there. */
async function without<T>(
  { name, file, text, instead }: Safeguard,
  { copy }: Bench,
  work: () => Promise<T>,
): Promise<T> {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  if (source.split(text).length !== 2)
    throw new ToolFailure(`${file} no longer has, exactly once, what "${name}" takes away.`);
  writeFileSync(
    path,
    source.replace(text, () => instead),
  );
  try {
    return await work();
  } finally {
    writeFileSync(path, source);
  }
}

/** Runs files and folders of tests one after the other until a test fails, so that a quick one spares the slow ones behind it. */
async function firstToNotice(tests: readonly string[], bench: Bench): Promise<Outcome> {
  for (const one of tests) {
    const outcome = await runTests([one], bench);
    if ('failed' in outcome) return outcome;
  }
  return { passed: 0 };
}

/** Without this, a test that always fails would seem to catch everything. `green` holds what has passed before. */
async function passesOtherwise(args: readonly string[], green: Set<string>, bench: Bench): Promise<boolean> {
  const name = args.join(' ');
  if (green.has(name)) return true;
  const outcome = await runTests(args, bench);
  const passes = 'passed' in outcome && outcome.passed > 0;
  if (passes) green.add(name);
  return passes;
}

/** Runs tests in the copy, those that vitest's arguments name, until the first fails. */
async function runTests(args: readonly string[], bench: Bench, bail = true): Promise<Outcome> {
  rmSync(bench.report, { force: true });
  const end = await runVitest([...args, ...(bail ? ['--bail=1'] : [])], LIMIT_MS, bench);
  if (end === 'late')
    return { failed: `${args[0]} did not end within ${LIMIT_MS / 60_000} minutes`, again: args };
  const { numPassedTests, testResults } = report.parse(JSON.parse(readFileSync(bench.report, 'utf8')));
  const failed = testResults
    .flatMap(({ name, assertionResults }) => assertionResults.map((one) => ({ ...one, file: name })))
    .find(({ status }) => status === 'failed');
  // A file that cannot be loaded is no test that noticed something.
  const broken = testResults.find((file) => file.message !== '' && file.assertionResults.length === 0);
  if (failed === undefined && broken) throw new ToolFailure(`The tests do not load: ${broken.message}`);
  if (failed)
    return {
      failed: pathOf(failed).join(' › '),
      again: [relative(bench.copy, failed.file), onlyTest(failed)],
    };
  if (end === 0) return { passed: numPassedTests };
  // The first failure ends the run, sometimes before it stands in the report: then all of them are run.
  if (!bail) throw new ToolFailure(`vitest ended with ${end} and reports no failure.`);
  return runTests(args, bench, false);
}

interface TestTitles {
  readonly ancestorTitles: readonly string[];
  readonly title: string;
}

function pathOf({ ancestorTitles, title }: TestTitles): string[] {
  return [...ancestorTitles, title];
}

/** The argument of vitest that runs one test alone. */
function onlyTest(test: TestTitles): string {
  const name = pathOf(test).join(' > ');
  return `--testNamePattern=^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
}

/** Gives how vitest ended; 'late' when it had to be ended after `limitMs`. */
async function runVitest(
  args: readonly string[],
  limitMs: number,
  { opened, copy, report: file, env }: Bench,
): Promise<number | 'late' | null> {
  const program = join(copy, 'node_modules/vitest/vitest.mjs');
  const flags = ['--passWithNoTests=false', '--reporter=json', `--outputFile=${file}`];
  const start = () =>
    spawn(process.execPath, [program, 'run', ...args, ...flags], { cwd: copy, env, stdio: 'ignore' });
  const vitest = await opened.add(start, (one) => stopProcess(one, 'SIGKILL'));
  let late = false;
  const limit = setTimeout(() => {
    late = true;
    vitest.kill('SIGKILL');
  }, limitMs);
  const [code] = (await once(vitest, 'exit')) as [number | null];
  clearTimeout(limit);
  return late ? 'late' : code;
}

function page(findings: readonly Finding[]): string {
  const rows = findings.map(
    ({ safeguard: { name, without }, caughtBy }) => `| ${name} | ${without} | ${caughtBy ?? '**nothing**'} |`,
  );
  return [
    '# Safeguards and the tests that notice their absence',
    '',
    'Each safeguard is removed, one at a time, from a copy of the project. The last column names the first test that then fails.',
    'Written by `npm run test:checks -- --write`; do not edit.',
    '',
    `Last run: ${new Date().toISOString().slice(0, 10)}, ${findings.length} safeguards, ${findings.filter(({ caughtBy }) => caughtBy === undefined).length} unnoticed.`,
    '',
    '| Safeguard | Without it | Noticed by |',
    '| --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
