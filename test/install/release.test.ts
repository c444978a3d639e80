import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { version } from '../../src/platform/process/version.ts';
import { startStub } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { freePort } from '../support/servers/server-process.ts';
import { unpackBareDebian } from './bare-debian.ts';

const ROOT = join(import.meta.dirname, '../..');
const COMMIT = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();
/** Installing reads the npm registry. */
const MINUTES = 10 * 60_000;

let out: string;
beforeAll(() => {
  out = mkdtempSync(join(tmpdir(), 'leadsync-release-test-'));
  const node = dirname(process.execPath);
  const env = { ...process.env, PATH: `${node}:${process.env['PATH']}` };
  execFileSync(process.execPath, ['scripts/release.ts', '--out', out], { cwd: ROOT, env, stdio: 'pipe' });
}, MINUTES);
afterAll(() => rmSync(out, { recursive: true, force: true }));

/** Runs an installed leadsync in a folder of its own; its environment has a PATH and nothing of this project. */
type Leadsync = (args: readonly string[]) => Promise<{ code: number | null; stdout: string; stderr: string }>;

function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv): ReturnType<Leadsync> {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** Writes a configuration to `file` that reads a stub of the service and makes CSV files in `folder`. */
async function aConfiguration(file: string, folder: string): Promise<void> {
  const stub = await startStub({ leads: 3 });
  onTestFinished(() => stub.close());
  const { url: base_url, clientId: client_id, clientSecret: client_secret } = stub;
  writeFileSync(
    file,
    stringify({
      data_dir: `${folder}/data`,
      sources: { main: { base_url, client_id, client_secret } },
      sinks: { drop: { type: 'csv', directory: `${folder}/drop` } },
      admin: { listen: `127.0.0.1:${await freePort()}` },
    }),
  );
}

async function expectToWork(leadsync: Leadsync, config: string): Promise<void> {
  const { stdout, stderr, code } = await leadsync(['version', '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({
    version,
    commit: expect.stringMatching(new RegExp(`^${COMMIT}(-dirty)?$`)),
    built: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
  });
  expect((await leadsync(['--version'])).stdout).toBe(`${version}\n`);
  expect(await leadsync(['validate', '-c', config])).toMatchObject({ code: 0, stderr: '' });
  const synced = await leadsync(['sync', '-c', config]);
  expect(synced.code, synced.stderr).toBe(0);
  expect(JSON.parse((await leadsync(['status', '--json', '-c', config])).stdout).sinks).toMatchObject([
    { delivered: 3, pending: 0, dead: 0 },
  ]);
}

describe('the npm package', () => {
  test('holds what runs, and nothing else', () => {
    const archive = join(out, `leadsync-${version}.tgz`);
    const files = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' }).trim().split('\n');
    const places = new Set(files.map((file) => file.split('/').slice(1, 2).join('/')));
    expect([...places].sort()).toEqual(
      ['CHANGELOG.md', 'LICENSE', 'README.md', 'bin', 'dist', 'docs', 'package.json'].sort(),
    );
    for (const file of [
      'man/leadsync.1',
      'completions/leadsync',
      'completions/_leadsync',
      'completions/leadsync.fish',
    ])
      expect(files).toContain(`package/dist/${file}`);
  });

  test(
    'installs with npm i -g, and works from the PATH',
    async () => {
      const prefix = tempDir();
      const PATH = `${dirname(process.execPath)}:${prefix}/bin:/usr/bin:/bin`;
      const archive = join(out, `leadsync-${version}.tgz`);
      const env = { ...process.env, PATH, NODE_ENV: undefined };
      const flags = ['--no-audit', '--no-fund', '--loglevel=error', '--prefix', prefix];
      execFileSync('npm', ['install', '--global', ...flags, archive], { env, cwd: prefix, stdio: 'pipe' });
      expect(existsSync(join(prefix, 'share/man/man1/leadsync.1'))).toBe(true);
      const config = join(prefix, 'leadsync.yaml');
      await aConfiguration(config, prefix);
      await expectToWork((args) => run(join(prefix, 'bin/leadsync'), args, { PATH }), config);
    },
    MINUTES,
  );
});

test(
  'the Debian package installs on a bare Debian, and works there',
  async () => {
    const machine = tempDir();
    unpackBareDebian(machine);
    const within = (...args: string[]) =>
      execFileSync('chroot', [machine, ...args], {
        encoding: 'utf8',
        env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
      });
    const architecture = within('dpkg', '--print-architecture').trim();
    cpSync(join(out, `leadsync_${version}_${architecture}.deb`), join(machine, 'leadsync.deb'));
    expect(within('dpkg', '--install', '/leadsync.deb')).toContain('leadsync is installed, but not started');
    expect(within('getent', 'passwd', 'leadsync')).toContain('/var/lib/leadsync');
    expect(within('stat', '-c', '%a %U', '/var/lib/leadsync', '/etc/leadsync/credentials')).toBe(
      '700 leadsync\n700 root\n',
    );
    expect(within('dpkg-query', '--show', '--showformat=${Conffiles}', 'leadsync')).toContain(
      '/etc/leadsync/leadsync.yaml',
    );

    mkdirSync(join(machine, 'srv/leads'));
    await aConfiguration(join(machine, 'srv/leads/leadsync.yaml'), '/srv/leads');
    const leadsync: Leadsync = (args) =>
      run('chroot', [machine, 'leadsync', ...args], { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' });
    await expectToWork(leadsync, '/srv/leads/leadsync.yaml');
    // The configuration that comes with it is right as soon as its secrets are there.
    for (const name of ['client_secret', 'crm_webhook_secret'])
      writeFileSync(
        join(machine, 'etc/leadsync/credentials', name),
        'whsec_bm90IGEgc2VjcmV0OiB0aGlzIGlzIGEgdGVzdA==',
      );
    expect(await leadsync(['validate'])).toMatchObject({ code: 0, stderr: '' });

    writeFileSync(join(machine, 'var/lib/leadsync/ledger.db'), '');
    expect(within('dpkg', '--purge', 'leadsync')).toContain('the ledger in /var/lib/leadsync was kept');
    expect(existsSync(join(machine, 'var/lib/leadsync/ledger.db'))).toBe(true);
    expect(existsSync(join(machine, 'etc/leadsync'))).toBe(false);
    expect(existsSync(join(machine, 'usr/lib/leadsync'))).toBe(false);
  },
  MINUTES,
);

describe('beside the packages', () => {
  test('SHA256SUMS fits every file', () => {
    const said = execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], {
      cwd: out,
      encoding: 'utf8',
    });
    expect(said.trim().split('\n')).toHaveLength(4);
  });

  test('the SBOM lists what runs, and no tool of development', () => {
    const sbom = JSON.parse(readFileSync(join(out, `leadsync-${version}.cdx.json`), 'utf8'));
    const names: string[] = sbom.components.map((component: { name: string }) => component.name);
    expect(sbom).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'leadsync', version } },
    });
    expect(names).toEqual(expect.arrayContaining(['better-sqlite3', 'fastify', 'bullmq']));
    expect(names.filter((name) => /typescript|vitest|biome/.test(name))).toEqual([]);
  });

  test('the build context of the image has what the Dockerfile copies, and names its commit', () => {
    const folder = tempDir();
    execFileSync('tar', ['-xzf', join(out, `leadsync-${version}-image.tar.gz`), '-C', folder]);
    const dockerfile = readFileSync(join(folder, 'Dockerfile'), 'utf8');
    expect(dockerfile).toMatch(new RegExp(`^ARG COMMIT=${COMMIT}(-dirty)?$`, 'm'));
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      (match) => match[1]?.split(' ') ?? [],
    );
    expect(copied.filter((file) => !existsSync(join(folder, file)))).toEqual([]);
    // An architecture is npm's own choice alone.
    expect(dockerfile).not.toMatch(/amd64|x86_64|arm64|x64/);
  });
});
