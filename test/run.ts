// `npm test`: the whole suite against a real Redis, PostgreSQL and MariaDB. `--help` says how to run parts of it.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type RunOptions, readOptions, USAGE } from './run-options.ts';
import { type SuiteCounts, suiteCounts, summary } from './suite-counts.ts';
import { bundledCheckout } from './support/program/bundled-checkout.ts';
import { readOrExit } from './support/program/command-line.ts';
import { openRunFolder } from './support/program/run-folder.ts';
import { type Opened, runTool } from './support/program/tool.ts';
import { installServers, missingServers } from './support/servers/install-servers.ts';
import { startMariadb } from './support/servers/private-mariadb.ts';
import { startPostgres } from './support/servers/private-postgres.ts';
import { startRedis } from './support/servers/private-redis.ts';
import { stopProcess } from './support/servers/server-process.ts';

/** Compiling TypeScript is half of what a short process does: test files and the processes that they fork share the result. */
const COMPILED = fileURLToPath(new URL('../node_modules/.cache/leadsync-test/compiled', import.meta.url));

/** The servers that all tests share, and the variables that name them. */
const SERVERS = {
  redis: { start: startRedis, variable: 'REDIS_URL' },
  postgres: { start: startPostgres, variable: 'DATABASE_URL' },
  mariadb: { start: startMariadb, variable: 'MYSQL_URL' },
} as const;

const options = readOrExit(readOptions, USAGE);

await runTool(async (opened) => {
  const folder = await opened.add(openRunFolder, (one) => one.close());
  await startServers(opened);
  const LEADSYNC_TEST_PROGRAM = await bundledCheckout();
  Object.assign(process.env, folder.env, { NODE_COMPILE_CACHE: COMPILED, LEADSYNC_TEST_PROGRAM });
  const counts = await runSuite(options, opened);
  await opened.closeAll();
  process.stdout.write(`${summary(counts)}\n`);
  return counts.ok ? 0 : 1;
});

/** @throws Error when vitest ends without telling how it went */
async function runSuite({ files, byTurns, vitest }: RunOptions, opened: Opened): Promise<SuiteCounts> {
  const program = fileURLToPath(new URL('suite.ts', import.meta.url));
  const env = { ...process.env, ...(byTurns && { LEADSYNC_TEST_CARRIERS: 'by-turns' }) };
  const start = () => fork(program, [...vitest, ...files], { execPath: process.execPath, env });
  const suite = await opened.add(start, (process) => stopProcess(process, 'SIGTERM'));
  return new Promise((resolve, reject) => {
    let counts: SuiteCounts | undefined;
    suite.once('message', (message) => {
      counts = suiteCounts.parse(message);
    });
    suite.once('error', reject);
    suite.once('exit', (code, signal) => {
      if (counts === undefined) reject(new Error(`vitest ended before its time (${signal ?? code})`));
      else resolve(counts);
    });
  });
}

async function startServers(opened: Opened): Promise<void> {
  const needed = [
    ...(process.env['REDIS_URL'] ? [] : (['redis'] as const)),
    ...(process.env['DATABASE_URL'] ? [] : (['postgres'] as const)),
    ...(process.env['MYSQL_URL'] ? [] : (['mariadb'] as const)),
  ];
  installServers(missingServers([...needed, 'chromium', 'jsonschema', 'kcat']));
  for (const server of needed) {
    const { start, variable } = SERVERS[server];
    const { url } = await opened.add<{ url: string; close(): Promise<void> }>(start, (one) => one.close());
    process.env[variable] = url;
  }
}
