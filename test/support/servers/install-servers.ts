import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { ToolFailure } from '../program/tool.ts';
import { findChromium } from './browser.ts';
import { findKcat } from './kafka-broker.ts';
import { findMariadb } from './private-mariadb.ts';
import { findPostgres } from './private-postgres.ts';
import { findRedis } from './private-redis.ts';
import { findSchemaWitness } from './schema-witness.ts';

/** What the tests need besides npm packages: servers, a browser for the pages, a client of Kafka with a broker in it, and a validator. */
export type Server = 'redis' | 'postgres' | 'mariadb' | 'chromium' | 'kcat' | 'jsonschema';

interface Origin {
  readonly name: string;
  readonly find: () => unknown;
  readonly debian: string;
  readonly brew: string;
  readonly elsewhere: string;
}

const ORIGINS: Record<Server, Origin> = {
  redis: {
    name: 'Redis',
    find: findRedis,
    debian: 'redis-server',
    brew: 'redis',
    elsewhere:
      'docker run -d --rm -p 127.0.0.1:6379:6379 redis:7\n    export REDIS_URL=redis://127.0.0.1:6379',
  },
  postgres: {
    name: 'PostgreSQL',
    find: findPostgres,
    debian: 'postgresql',
    brew: 'postgresql@17',
    elsewhere:
      'docker run -d --rm -p 127.0.0.1:5432:5432 -e POSTGRES_PASSWORD=test postgres:17\n' +
      '    export DATABASE_URL=postgresql://postgres:test@127.0.0.1:5432/postgres',
  },
  mariadb: {
    name: 'MariaDB',
    find: findMariadb,
    debian: 'mariadb-server',
    brew: 'mariadb',
    elsewhere:
      'docker run -d --rm -p 127.0.0.1:3306:3306 -e MARIADB_ROOT_PASSWORD=test mariadb:11\n' +
      '    export MYSQL_URL=mysql://root:test@127.0.0.1:3306/mysql',
  },
  chromium: {
    name: 'Chromium',
    find: findChromium,
    debian: 'chromium',
    brew: '--cask chromium',
    elsewhere: 'export CHROMIUM=/path/to/chromium-or-chrome',
  },
  jsonschema: {
    name: 'Python with jsonschema',
    find: findSchemaWitness,
    debian: 'python3-jsonschema',
    brew: 'python-jsonschema',
    elsewhere: 'python3 -m pip install jsonschema',
  },
  kcat: {
    name: 'kcat',
    find: findKcat,
    debian: 'kcat',
    brew: 'kcat',
    elsewhere: 'install kcat from https://github.com/edenhill/kcat into a folder of PATH',
  },
};
const POLICY = '/usr/sbin/policy-rc.d';

/** Returns the requirements that have no binary on this machine. */
export function missingServers(needed: readonly Server[]): Server[] {
  return needed.filter((server) => ORIGINS[server].find() === undefined);
}

/**
 * Installs them with apt as root on Debian and its derivatives. @throws ToolFailure that names what to install, elsewhere and on failure
 */
export function installServers(missing: readonly Server[]): void {
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) throw new ToolFailure(advice(missing));
  const packages = missing.map((server) => ORIGINS[server].debian);
  process.stderr.write(`Installing ${packages.join(' and ')} with apt-get for the tests …\n`);
  const restore = keepServersFromStarting(missing);
  try {
    const install = ['install', '-y', '-qq', '--no-install-recommends', ...packages];
    if (!aptGet(['update', '-qq']) || !aptGet(install)) {
      throw new ToolFailure(`apt-get could not install them; it said why above.\n${advice(missing)}`);
    }
  } finally {
    restore();
  }
  const still = missingServers(missing);
  if (still.length > 0) throw new ToolFailure(advice(still));
}

/** Debian starts what it installs, including PostgreSQL on port 5432; the tests need only the binaries. */
function keepServersFromStarting(missing: readonly Server[]): () => void {
  const cluster = '/etc/postgresql-common/createcluster.conf';
  if (missing.includes('postgres') && !existsSync(cluster)) {
    mkdirSync('/etc/postgresql-common', { recursive: true });
    writeFileSync(cluster, 'create_main_cluster = false\n');
  }
  if (existsSync(POLICY)) return () => {};
  writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  return () => rmSync(POLICY, { force: true });
}

function aptGet(args: readonly string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // The answer to the prompt about an existing configuration file: keep it.
  const keep = ['-o', 'Dpkg::Options::=--force-confold', '-o', 'Dpkg::Use-Pty=0'];
  const apt = spawnSync('apt-get', [...keep, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  if (apt.status !== 0) process.stderr.write(Buffer.concat([apt.stdout, apt.stderr]));
  return apt.status === 0;
}

function advice(missing: readonly Server[]): string {
  const origins = missing.map((server) => ORIGINS[server]);
  const names = origins.map(({ name }) => name).join(' and ');
  return (
    `The tests need ${names}, and ${missing.length > 1 ? 'they are' : 'it is'} not installed on this machine. Do one of these, then run \`npm test\` again:\n` +
    `  Debian, Ubuntu:  sudo apt-get install --no-install-recommends ${origins.map(({ debian }) => debian).join(' ')}\n` +
    origins.map(({ brew }) => `  macOS:           brew install ${brew}\n`).join('') +
    `  Elsewhere:\n${origins.map(({ elsewhere }) => `    ${elsewhere}`).join('\n')}`
  );
}
