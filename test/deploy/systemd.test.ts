import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ExitCode } from '../../src/cli/shell/exit-code.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { findSystemdAnalyze } from './debian-tools.ts';
import { loadWithSecrets } from './written-config.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'deploy/systemd');
const unit = readFileSync(join(folder, 'leadsync.service'), 'utf8');

/** What the unit says under a name, each time. */
function valuesOf(name: string): string[] {
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map((match) => match[1] ?? '');
}

describe('leadsync.service', () => {
  test('keeps the data directory of its configuration, and a credential for each secret', () => {
    const yaml = readFileSync(join(folder, 'leadsync.yaml'), 'utf8');
    const { config, secretFiles } = loadWithSecrets(
      yaml,
      '${CREDENTIALS_DIRECTORY:-/etc/leadsync/credentials}',
    );
    expect(config.dataDir).toBe(`/var/lib/${valuesOf('StateDirectory')[0]}`);
    const credentials = valuesOf('LoadCredential').map((value) => value.split(':')[0]);
    expect(credentials).toEqual(secretFiles);
    expect(Number.parseInt(valuesOf('TimeoutStopSec')[0] ?? '', 10) * 1000).toBeGreaterThan(
      config.gracePeriodMs,
    );
  });

  test('reloads by SIGHUP, and restarts after every exit except those that an operator has to fix', () => {
    expect(valuesOf('ExecReload')).toEqual(['/bin/kill -HUP $MAINPID']);
    expect(valuesOf('Restart')).toEqual(['always']);
    expect(valuesOf('StartLimitIntervalSec')).toEqual(['0']);
    expect(valuesOf('RestartPreventExitStatus')).toEqual([`${ExitCode.usage} ${ExitCode.configuration}`]);
  });

  test('runs as the user that leadsync.sysusers creates', () => {
    const sysusers = readFileSync(join(folder, 'leadsync.sysusers'), 'utf8');
    expect(sysusers).toMatch(/^u leadsync - ".+" \/var\/lib\/leadsync$/m);
    expect(valuesOf('User')).toEqual(['leadsync']);
  });
});

describe('systemd-analyze', () => {
  let analyze: string;
  // It may have to be installed first.
  beforeAll(() => {
    analyze = findSystemdAnalyze();
  });

  test('finds no fault in the unit', () => {
    const file = join(tempDir(), 'leadsync.service');
    // Where it is installed nothing is on this machine, and a program that is missing counts as wrong.
    writeFileSync(file, unit.replace('ExecStart=leadsync ', `ExecStart=${root}/bin/leadsync.js `));
    const { status, stdout, stderr } = spawnSync(analyze, ['verify', '--man=no', file], { encoding: 'utf8' });
    expect({ status, said: `${stdout}${stderr}` }).toEqual({ status: 0, said: '' });
  });

  test('rates its exposure at 1.5 of 10 at most', () => {
    const args = [
      'security',
      '--offline=true',
      '--threshold=15',
      '--no-pager',
      join(folder, 'leadsync.service'),
    ];
    const { status, stdout, stderr } = spawnSync(analyze, args, { encoding: 'utf8' });
    expect(
      status,
      stdout
        .split('\n')
        .filter((line) => line.startsWith('✗'))
        .join('\n') + stderr,
    ).toBe(0);
  });
});
