import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { installProgram } from '../../deploy/debian-tools.ts';
import { Install } from '../an-install.ts';

/** Stands in for leadsync, whose own answer is tried below: starting it for each key would take a busy machine minutes. */
const ANSWERS = `#!/bin/sh
case "$*" in
  'complete-names sink') printf 'crm\\ndrop\\n' ;;
  'complete-names source -c other.yaml') echo main ;;
esac
`;

/** A folder with the completion script of a shell, and a `leadsync` to be found on the PATH. */
async function prepare(shell: string) {
  const { folder, ...install } = await scriptOf(shell);
  const command = join(folder, 'leadsync');
  writeFileSync(command, ANSWERS);
  chmodSync(command, 0o755);
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}`, TERM: 'xterm' };
  return { ...install, env };
}

async function scriptOf(shell: string) {
  const install = new Install();
  const { code, stdout } = await install.run(['completion', shell]);
  expect(code).toBe(0);
  const script = join(install.folder, `completion.${shell}`);
  writeFileSync(script, stdout);
  return { folder: install.folder, script };
}

/** What a shell offers for each line, by the name of the shell. */
const shells: Readonly<
  Record<string, (script: string, lines: readonly string[], env: NodeJS.ProcessEnv) => string[][]>
> = {
  bash: (script, lines, env) => {
    const program = `source "$0"; for line in "$@"; do COMP_LINE=$line COMP_POINT=\${#line}; _leadsync leadsync; echo "\${COMPREPLY[*]}"; done`;
    const said = execFileSync('bash', ['--norc', '-c', program, script, ...lines], { env, encoding: 'utf8' });
    return said
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' '));
  },
  fish: (script, lines, env) => {
    const program =
      'source $argv[1]; for line in $argv[2..-1]; complete -C $line | cut -f1 | string join " "; end; true';
    const said = execFileSync('fish', ['-N', '-c', program, script, ...lines], { env, encoding: 'utf8' });
    return said
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' '));
  },
};

describe.each(Object.keys(shells))('completion in %s', (shell) => {
  // It may have to be installed first.
  beforeAll(() => installProgram(shell), 300_000);

  test('offers commands, options, their values, and the names of the configuration', async () => {
    const { script, env } = await prepare(shell);
    const offered = {
      'leadsync stat': ['status'],
      'leadsync deliveries --sta': ['--state'],
      'leadsync deliveries --state de': ['delivered', 'dead'],
      'leadsync pause ': ['crm', 'drop'],
      'leadsync tail --sink ': ['crm', 'drop'],
      'leadsync -c other.yaml login ': ['main'],
      // bash replaces what stands behind the @, and so gets the rest alone.
      'leadsync query @spee': [shell === 'bash' ? 'speed-to-lead' : '@speed-to-lead'],
    };
    const found = shells[shell]?.(script, Object.keys(offered), env) ?? [];
    expect(found.map((words) => words.toSorted())).toEqual(
      Object.values(offered).map((words) => words.toSorted()),
    );
  });
});

describe('completion in zsh', () => {
  beforeAll(() => installProgram('zsh'), 300_000);

  test('completes commands, options, their values, and the names of the configuration', async () => {
    const { script, env } = await prepare('zsh');
    const completed = {
      'leadsync stat': 'leadsync status ',
      'leadsync deliveries --sta': 'leadsync deliveries --state ',
      'leadsync deliveries --state p': 'leadsync deliveries --state pending ',
      'leadsync pause c': 'leadsync pause crm ',
      'leadsync tail --sink d': 'leadsync tail --sink drop ',
      'leadsync -c other.yaml login m': 'leadsync -c other.yaml login main ',
      'leadsync query @spee': 'leadsync query @speed-to-lead ',
    };
    const driver = join(import.meta.dirname, 'completion-in-zsh.zsh');
    const said = execFileSync('zsh', ['-f', driver, script, ...Object.keys(completed)], {
      env,
      encoding: 'utf8',
    });
    expect(
      said
        .trimEnd()
        .split('\n')
        .map((line) => line.trim()),
    ).toEqual(Object.values(completed).map((line) => line.trim()));
  });
});

describe('complete-names', () => {
  test('prints the names of the configuration, with faults in it or not', async () => {
    const install = new Install();
    expect(await install.run(['complete-names', 'sink'])).toEqual({
      code: 0,
      stdout: 'crm\ndrop\n',
      stderr: '',
    });
    install.configure({ log: { level: 'loud' } });
    expect((await install.run(['complete-names', 'source'])).stdout).toBe('main\n');
  });

  test('prints nothing without a readable configuration', async () => {
    const said = await new Install().run(['complete-names', 'sink', '-c', '/nowhere.yaml']);
    expect(said).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});
