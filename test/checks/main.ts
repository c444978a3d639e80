// `npm run test:checks`: removes one safeguard at a time from a copy of the project and shows which test then fails.
// Ends with 1 when one goes unnoticed. `-- --only WORD` takes those whose name has it; `-- --write` keeps the result in docs/safeguards.md.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { installServers, missingServers } from '../support/install-servers.ts';
import { startPostgres } from '../support/private-postgres.ts';
import { startRedis } from '../support/private-redis.ts';
import { type Safeguard, safeguards } from './safeguards.ts';

/** Which test noticed that a safeguard was missing. */
interface Finding {
  readonly safeguard: Safeguard;
  /** Undefined: none did. */
  readonly caughtBy: string | undefined;
  readonly seconds: number;
}

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const COPIED = [
  'src',
  'test',
  'bin',
  'config',
  'docs',
  'scripts',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
];
/** So long may all of the tests take, on a machine however busy. */
const LIMIT_MS = 1_800_000;

const report = z.object({
  numPassedTests: z.number(),
  testResults: z.array(
    z.object({
      message: z.string(),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
});

const { values } = parseArgs({ options: { only: { type: 'string' }, write: { type: 'boolean' } } });
const chosen = safeguards.filter(({ name }) => name.includes(values.only ?? ''));
if (chosen.length === 0) fail(`No safeguard has "${values.only}" in its name.`);

installServers(missingServers(['redis', 'postgres']));
const [redis, postgres] = [await startRedis(), await startPostgres()];
const folder = mkdtempSync(join(tmpdir(), 'leadsync-checks-'));
try {
  copyProject();
  const wholeMs = proveGreen([...new Set(chosen.flatMap(({ tests }) => tests))]);
  // What hangs without its safeguard is noticed as well: the tests of one never take as long as twice those of all.
  const findings = chosen.map((safeguard) => examine(safeguard, 2 * wholeMs));
  const missed = findings.filter(({ caughtBy }) => caughtBy === undefined).length;
  if (values.write) writeFileSync(join(PROJECT, 'docs/safeguards.md'), page(findings));
  process.stdout.write(`${findings.length} safeguards removed, ${missed} unnoticed\n`);
  if (missed > 0) process.exitCode = 1;
} finally {
  await Promise.all([redis.close(), postgres.close()]);
  rmSync(folder, { recursive: true, force: true });
}

function copyProject(): void {
  for (const name of COPIED) cpSync(join(PROJECT, name), join(folder, name), { recursive: true });
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
}

/** Without this, a test that always fails would seem to catch everything. Gives how long the tests took, in ms. */
function proveGreen(tests: readonly string[]): number {
  say(`with every safeguard in place: ${tests.join(' ')}`);
  const startMs = performance.now();
  const { failed, passed } = runTests(tests, LIMIT_MS);
  if (failed !== undefined) fail(`Even with every safeguard in place this fails: ${failed}`);
  say(`  ${passed} passed`);
  return performance.now() - startMs;
}

function examine(safeguard: Safeguard, limitMs: number): Finding {
  const path = join(folder, safeguard.file);
  const source = readFileSync(path, 'utf8');
  if (source.split(safeguard.text).length !== 2)
    fail(`${safeguard.file} no longer has, exactly once, what "${safeguard.name}" takes away.`);
  say(`without: ${safeguard.name}`);
  const startMs = performance.now();
  writeFileSync(
    path,
    source.replace(safeguard.text, () => safeguard.instead),
  );
  const { failed } = runTests(safeguard.tests, limitMs);
  writeFileSync(path, source);
  const seconds = Math.round((performance.now() - startMs) / 1000);
  say(failed === undefined ? `  UNNOTICED (${seconds} s)` : `  caught by: ${failed} (${seconds} s)`);
  return { safeguard, caughtBy: failed, seconds };
}

/** Runs tests in the copy until the first fails. Gives its name, or undefined when all pass. */
function runTests(
  tests: readonly string[],
  timeout: number,
  bail = true,
): { failed: string | undefined; passed: number } {
  const output = join(folder, 'report.json');
  rmSync(output, { force: true });
  const args = [
    'run',
    ...tests,
    ...(bail ? ['--bail=1'] : []),
    '--passWithNoTests=false',
    '--reporter=json',
    `--outputFile=${output}`,
  ];
  const run = spawnSync(process.execPath, [join(folder, 'node_modules/vitest/vitest.mjs'), ...args], {
    cwd: folder,
    env: { ...process.env, REDIS_URL: redis.url, DATABASE_URL: postgres.url, TMPDIR: folder },
    stdio: ['ignore', 'ignore', 'ignore'],
    timeout,
    killSignal: 'SIGKILL',
  });
  if (run.signal !== null)
    return { failed: `nothing came to an end within ${Math.round(timeout / 1000)} s`, passed: 0 };
  const { numPassedTests, testResults } = report.parse(JSON.parse(readFileSync(output, 'utf8')));
  const failed = testResults
    .flatMap((file) => file.assertionResults)
    .find(({ status }) => status === 'failed')?.fullName;
  // A file that cannot be loaded is no test that noticed something.
  const broken = testResults.find((file) => file.message !== '' && file.assertionResults.length === 0);
  if (failed === undefined && broken) fail(`The tests do not load: ${broken.message}`);
  // The first failure ends the run, sometimes before it stands in the report: then all of them are run.
  if (failed === undefined && run.status !== 0) {
    if (!bail) fail(`vitest ended with ${run.status} and reports no failure.`);
    return runTests(tests, timeout, false);
  }
  return { failed, passed: numPassedTests };
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

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
