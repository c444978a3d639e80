import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Kept beside the packages of npm, so that it is fetched once. */
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/leadsync-test');

/** Where promtool is: installed, or taken out of Debian's package. @throws Error that says what to install */
export function findPromtool(): string {
  const cached = join(CACHE, 'promtool');
  const found = findProgram('promtool') ?? (existsSync(cached) ? cached : undefined);
  if (found === undefined) unpack('prometheus', 'usr/bin/promtool', cached);
  return found ?? cached;
}

/** Where systemd-analyze is; installed when it is missing. @throws Error that says what to install */
export function findSystemdAnalyze(): string {
  const found = findProgram('systemd-analyze');
  if (found !== undefined) return found;
  // Installed as a whole: it needs the libraries beside it. Nothing is started by it.
  aptGet(['update', '-qq'], 'systemd');
  aptGet(['install', '-y', '-qq', '--no-install-recommends', 'systemd'], 'systemd');
  return 'systemd-analyze';
}

/** Makes sure that a program is there, by the Debian package of the same name. @throws Error that says what to install */
export function installProgram(name: string): void {
  if (findProgram(name) !== undefined) return;
  aptGet(['update', '-qq'], name);
  aptGet(['install', '-y', '-qq', '--no-install-recommends', name], name);
}

function findProgram(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

/** Takes one program out of a package that is not installed: Debian would start the server that comes with it. */
function unpack(name: string, program: string, target: string): void {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, `${name}-`));
  try {
    if (apt(['download', name], folder).status !== 0) {
      aptGet(['update', '-qq'], name);
      aptGet(['download', name], name, folder);
    }
    const archive = readdirSync(folder).find((file) => file.endsWith('.deb')) ?? '';
    done(run('dpkg-deb', ['--extract', join(folder, archive), folder]), name);
    renameSync(join(folder, program), target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function aptGet(args: readonly string[], name: string, folder?: string): void {
  done(apt(args, folder), name);
}

function apt(args: readonly string[], folder?: string): SpawnSyncReturns<string> {
  return run('apt-get', ['-o', 'DPkg::Lock::Timeout=120', ...args], folder);
}

function run(program: string, args: readonly string[], cwd?: string): SpawnSyncReturns<string> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync(program, args, { encoding: 'utf8', env, ...(cwd && { cwd }) });
}

function done({ status, stderr, error }: SpawnSyncReturns<string>, name: string): void {
  if (status === 0) return;
  const reason = (stderr || error?.message || '').trim();
  throw new Error(`These tests need a program of Debian's package ${name}. Install that. ${reason}`);
}
