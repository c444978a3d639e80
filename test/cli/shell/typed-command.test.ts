import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { rewriteCommands } from '../../../src/platform/process/typed-command.ts';
import { readFiles, withoutComments } from '../../support/import-scan.ts';
import { Install } from '../an-install.ts';

const ROOT = posix.join(import.meta.dirname.replaceAll('\\', '/'), '../../..');
const PERSON = {
  base_url: 'http://127.0.0.1:9',
  client_id: 'id',
  client_secret: 'secret',
  grant: 'authorization_code',
};
const env = { LEADSYNC_COMMAND: 'npm run -s leadsync --' };

test.each([
  ['a failure', ['status'], '`npm run -s leadsync -- run`'],
  ['wrong usage', ['status', '--nonsense'], '`npm run -s leadsync -- status --help`'],
  ['the next steps of init', ['init', 'new.yaml'], '`npm run -s leadsync -- validate -c'],
  ['help', ['reload', '--help'], '$ npm run -s leadsync -- validate && npm run -s leadsync -- reload'],
  ['the list of commands', ['--help'], 'Usage: npm run -s leadsync -- [options]'],
])('%s names the command as LEADSYNC_COMMAND says', async (_, args, shown) => {
  const install = new Install();
  const inFolder = args.map((word) => (word.endsWith('.yaml') ? join(install.folder, word) : word));
  const { stdout, stderr } = await install.run(inFolder, { env });
  expect(`${stdout}${stderr}`).toContain(shown);
  expect(`${stdout}${stderr}`).not.toMatch(/`leadsync [a-z]/);
});

test('a text whose commands were rewritten stays as it is, even if the command begins with leadsync', () => {
  const own = { LEADSYNC_COMMAND: 'leadsync -c /etc/leads.yaml' };
  const once = rewriteCommands('Run `leadsync status` or `leadsync check`.', own);
  expect(once).toBe('Run `leadsync -c /etc/leads.yaml status` or `leadsync -c /etc/leads.yaml check`.');
  expect(rewriteCommands(once, own)).toBe(once);
});

test('status names the next step as LEADSYNC_COMMAND says', async () => {
  const install = new Install();
  await install.listed(1);
  const { stdout } = await install.run(['status'], { env });
  expect(stdout).toContain('`npm run -s leadsync -- run` starts it.');
  expect(stdout).not.toMatch(/`leadsync [a-z]/);
});

test.each([
  ['check', ['check'], '`npm run -s leadsync -- login main`', { sources: { main: PERSON }, sinks: {} }],
  ['ledger accept', ['ledger', 'accept'], '`npm run -s leadsync -- run`', {}],
])('%s names the next step as LEADSYNC_COMMAND says', async (_, args, shown, config) => {
  const install = new Install();
  install.configure(config);
  const { stdout } = await install.run(args, { env });
  expect(stdout).toContain(shown);
  expect(stdout).not.toMatch(/`leadsync [a-z]/);
});

test('status and failures say how the daemon is started as LEADSYNC_START says', async () => {
  const install = new Install();
  const started = { ...env, LEADSYNC_START: 'systemctl start leadsync' };
  expect((await install.run(['status'], { env: started })).stderr).toContain('`systemctl start leadsync`');
  await install.listed(1);
  const { stdout } = await install.run(['status'], { env: started });
  expect(stdout).toContain('`systemctl start leadsync` starts it.');
  expect(stdout).not.toMatch(/leadsync (-- )?run/);
});

test('plan names the next step as LEADSYNC_COMMAND says', async () => {
  const install = new Install();
  await install.listed(1);
  install.configure({ sinks: {} });
  const { stdout } = await install.run(['plan'], { env });
  expect(stdout).toContain('`npm run -s leadsync -- forget crm`');
});

test('a checkout names the command as npm runs it there', () => {
  const cache = join(ROOT, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true }); // a fresh installation has none
  const folder = mkdtempSync(join(cache, 'typed-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const args = ['scripts/bootstrap.mjs', 'bin/leadsync.js', 'validate', '-c', join(folder, 'none.yaml')];
  const { LEADSYNC_COMMAND: _, ...own } = process.env;
  const { stderr } = spawnSync(process.execPath, args, { cwd: ROOT, env: own, encoding: 'utf8' });
  expect(stderr).toContain('`npm run -s leadsync -- init`');
});

test('every command in a text is between backticks, so that it can be rewritten', async () => {
  const help = (await new Install().run(['--help'])).stdout;
  const commands = [...help.matchAll(/^ {2}([a-z][a-z-]+) /gm)].map((match) => match[1] ?? '');
  // Not in examples, which help rewrites, nor in a page's <code> and where it is no command: `files from leadsync export`.
  const typed = new RegExp(
    `(?<![\`'"&|(] ?|top |-n \\d+ |of |from |a |<code>)leadsync (${commands.join('|')})\\b`,
  );
  const strays = [...readFiles(ROOT, 'src')].flatMap(([path, text]) =>
    withoutComments(text)
      .split('\n')
      .flatMap((line) => (typed.test(line) ? [`${path}: ${line.trim()}`] : [])),
  );
  expect(strays).toEqual([]);
});
