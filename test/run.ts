// `npm test`: the whole suite against a real Redis and a real PostgreSQL. Its last line is `123 passed, 0 failed`.
// Arguments go to vitest: `npm test -- test/ledger`, `npm test -- -t "a name"`.
import { fork } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type SuiteCounts, suiteCounts, summary } from './suite-counts.ts';
import { installServers, missingServers } from './support/install-servers.ts';
import { startPostgres } from './support/private-postgres.ts';
import { startRedis } from './support/private-redis.ts';
import { stopProcess } from './support/server-process.ts';

type Close = () => Promise<void> | void;

const closes: Close[] = [];
let closing: Promise<void> | undefined;

const starting = startServers();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // The terminal and npm both send it; the second one finds the closing under way.
  process.on(signal, () => void closeAll().then(() => process.exit(130)));
}

try {
  await starting;
  const counts = await runSuite(process.argv.slice(2));
  await closeAll();
  process.stdout.write(`${summary(counts)}\n`, () => process.exit(counts.ok ? 0 : 1));
} catch (error) {
  // Whoever has asked for the end knows why the tests have broken off.
  if (closing === undefined) process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  await closeAll();
  process.exit(1);
}

/** @throws Error when vitest ends without telling how it went */
function runSuite(args: readonly string[]): Promise<SuiteCounts> {
  if (closing !== undefined) throw new Error('The tests were stopped before they began.');
  const suite = fork(fileURLToPath(new URL('suite.ts', import.meta.url)), args, {
    execPath: process.execPath,
  });
  closes.push(() => stopProcess(suite, 'SIGTERM'));
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

async function startServers(): Promise<void> {
  // Everything that tests leave behind lies in one folder, and goes with it, also when they are killed.
  const folder = mkdtempSync(join(tmpdir(), 'leadsync-tests-'));
  // A server that a test starts under another user must be able to pass.
  chmodSync(folder, 0o711);
  closes.push(() => rmSync(folder, { recursive: true, force: true }));
  const needed = [
    ...(process.env['REDIS_URL'] ? [] : (['redis'] as const)),
    ...(process.env['DATABASE_URL'] ? [] : (['postgres'] as const)),
  ];
  installServers(missingServers(needed));
  for (const server of needed) {
    const started = await (server === 'redis' ? startRedis() : startPostgres());
    closes.push(() => started.close());
    process.env[server === 'redis' ? 'REDIS_URL' : 'DATABASE_URL'] = started.url;
  }
  process.env['TMPDIR'] = folder;
}

function closeAll(): Promise<void> {
  closing ??= (async () => {
    // What is only half started could not be stopped.
    await Promise.allSettled([starting]);
    for (const close of closes.reverse()) await close();
  })();
  return closing;
}
