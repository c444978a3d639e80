import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { version } from '../../../src/platform/process/version.ts';
import { Install } from '../an-install.ts';

const ROOT = join(import.meta.dirname, '../../..');

test('version prints the commit of a checkout, and the versions that it runs on', async () => {
  const install = new Install();
  const head = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();
  const info = await install.json('version');
  expect(info).toEqual({
    version,
    commit: expect.stringMatching(new RegExp(`^${head}(-dirty)?$`)),
    built: null,
    node: process.versions.node,
    sqlite: expect.stringMatching(/^3\.\d+\.\d+$/),
    platform: `${process.platform} ${process.arch}`,
  });
  const { stdout } = await install.run(['version']);
  expect(stdout).toMatch(new RegExp(`^leadsync ${version}\ncommit   ${head}`));
});

test('the manual page has every command and option, and no line that roff would take for something else', async () => {
  const install = new Install();
  const { code, stdout: page } = await install.run(['man']);
  expect(code).toBe(0);
  const help = (await install.run(['--help'])).stdout;
  const commands = [...help.matchAll(/^ {2}([a-z][a-z-]+) /gm)].map((match) => match[1] ?? '');
  expect(commands.length).toBeGreaterThan(30);
  for (const command of commands)
    expect(page).toContain(`.SH LEADSYNC ${command.toUpperCase().replaceAll('-', '\\-')}\n`);
  expect(page).toContain('.B \\-\\-state <state...>\n');
  const requests = page.split('\n').flatMap((line) => /^[.'](\w*)/.exec(line)?.[1] ?? []);
  expect([...new Set(requests)].sort()).toEqual([
    'B',
    'I',
    'PP',
    'RE',
    'RI',
    'RS',
    'SH',
    'SS',
    'TH',
    'TP',
    'fi',
    'nf',
  ]);
  const man = spawnSync('man', ['--warnings', '-l', '-'], {
    input: page,
    encoding: 'utf8',
    env: { ...process.env, MANPAGER: 'cat', LC_ALL: 'C' }, // the strictest: a terminal that has no UTF-8
  });
  // Where there is no man, the checks above are what is left.
  if (!man.error) expect({ status: man.status, stderr: man.stderr }).toEqual({ status: 0, stderr: '' });
});
