// `npm run test:checks`: removes one safeguard at a time from a copy of the project and shows which test then fails.
// `-- --help` says more.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { readOrExit } from '../support/command-line.ts';
import { installServers, missingServers } from '../support/install-servers.ts';
import { startPostgres } from '../support/private-postgres.ts';
import { startRedis } from '../support/private-redis.ts';
import { openRunFolder } from '../support/run-folder.ts';
import { stopProcess } from '../support/server-process.ts';
import { type Opened, runTool, ToolFailure } from '../support/tool.ts';
import { readOptions, USAGE } from './options.ts';
import type { Safeguard } from './safeguard.ts';

/** Which test noticed that a safeguard was missing. */
interface Finding {
  readonly safeguard: Safeguard;
  /** Undefined: none did. */
  readonly caughtBy: string | undefined;
  readonly seconds: number;
}

/** A copy of the project, and what its tests need. */
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
/** So long may all of the tests take, on a machine however busy. */
const LIMIT_MS = 1_800_000;
/** Where they take seconds, a test that waits in vain is still given the time to say so. */
const SHORTEST_LIMIT_MS = 180_000;

const report = z.object({
  numPassedTests: z.number(),
  testResults: z.array(
    z.object({
      message: z.string(),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
});

const options = readOrExit(readOptions, USAGE);

await runTool(async (opened) => {
  const bench = await openBench(opened);
  const findings = await examineAll(options.chosen, bench);
  const missed = findings.filter(({ caughtBy }) => caughtBy === undefined).length;
  if (options.write) writeFileSync(join(PROJECT, 'docs/safeguards.md'), page(findings));
  await opened.closeAll();
  process.stdout.write(`${findings.length} safeguards removed, ${missed} unnoticed\n`);
  return missed > 0 ? 1 : 0;
});

async function openBench(opened: Opened): Promise<Bench> {
  installServers(missingServers(['redis', 'postgres']));
  const folder = await opened.add(openRunFolder, (one) => one.close());
  const redis = await opened.add(startRedis, (one) => one.close());
  const postgres = await opened.add(startPostgres, (one) => one.close());
  const copy = join(folder.path, 'copy');
  for (const name of COPIED) cpSync(join(PROJECT, name), join(copy, name), { recursive: true });
  symlinkSync(join(PROJECT, 'node_modules'), join(copy, 'node_modules'));
  return {
    opened,
    copy,
    report: join(folder.path, 'report.json'),
    env: { ...process.env, ...folder.env, REDIS_URL: redis.url, DATABASE_URL: postgres.url },
  };
}

async function examineAll(chosen: readonly Safeguard[], bench: Bench): Promise<Finding[]> {
  const wholeMs = await proveGreen([...new Set(chosen.flatMap(({ tests }) => tests))], bench);
  const findings: Finding[] = [];
  // What hangs without its safeguard is noticed as well: the tests of one never take as long as twice those of all.
  const limitMs = Math.max(2 * wholeMs, SHORTEST_LIMIT_MS);
  for (const safeguard of chosen) findings.push(await examine(safeguard, limitMs, bench));
  return findings;
}

/** Without this, a test that always fails would seem to catch everything. Gives how long the tests took, in ms. */
async function proveGreen(tests: readonly string[], bench: Bench): Promise<number> {
  say(`with every safeguard in place: ${tests.join(' ')}`);
  const startMs = performance.now();
  const { failed, passed } = await runTests(tests, LIMIT_MS, bench);
  if (failed !== undefined) throw new ToolFailure(`Even with every safeguard in place this fails: ${failed}`);
  say(`  ${passed} passed`);
  return performance.now() - startMs;
}

async function examine(safeguard: Safeguard, limitMs: number, bench: Bench): Promise<Finding> {
  const path = join(bench.copy, safeguard.file);
  const source = readFileSync(path, 'utf8');
  if (source.split(safeguard.text).length !== 2)
    throw new ToolFailure(
      `${safeguard.file} no longer has, exactly once, what "${safeguard.name}" takes away.`,
    );
  say(`without: ${safeguard.name}`);
  const startMs = performance.now();
  writeFileSync(
    path,
    source.replace(safeguard.text, () => safeguard.instead),
  );
  const { failed } = await runTests(safeguard.tests, limitMs, bench);
  writeFileSync(path, source);
  const seconds = Math.round((performance.now() - startMs) / 1000);
  say(failed === undefined ? `  UNNOTICED (${seconds} s)` : `  caught by: ${failed} (${seconds} s)`);
  return { safeguard, caughtBy: failed, seconds };
}

/** Runs tests in the copy until the first fails. Gives its name, or undefined when all pass. */
async function runTests(
  tests: readonly string[],
  limitMs: number,
  bench: Bench,
  bail = true,
): Promise<{ failed: string | undefined; passed: number }> {
  rmSync(bench.report, { force: true });
  const end = await runVitest([...tests, ...(bail ? ['--bail=1'] : [])], limitMs, bench);
  if (end === 'late')
    return { failed: `nothing came to an end within ${Math.round(limitMs / 1000)} s`, passed: 0 };
  const { numPassedTests, testResults } = report.parse(JSON.parse(readFileSync(bench.report, 'utf8')));
  const failed = testResults
    .flatMap((file) => file.assertionResults)
    .find(({ status }) => status === 'failed')?.fullName;
  // A file that cannot be loaded is no test that noticed something.
  const broken = testResults.find((file) => file.message !== '' && file.assertionResults.length === 0);
  if (failed === undefined && broken) throw new ToolFailure(`The tests do not load: ${broken.message}`);
  // The first failure ends the run, sometimes before it stands in the report: then all of them are run.
  if (failed === undefined && end !== 0) {
    if (!bail) throw new ToolFailure(`vitest ended with ${end} and reports no failure.`);
    return runTests(tests, limitMs, bench, false);
  }
  return { failed, passed: numPassedTests };
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
    '# The checks are checked',
    '',
    'What the promise rests on, taken away one at a time from a copy of the project, and the first test that then fails.',
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
